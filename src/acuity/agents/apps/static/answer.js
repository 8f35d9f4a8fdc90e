// What an answer of the server says, taken from documents that may lack or bend anything: never trusted.

const CARD_FIGURES = [
  ["harmonic_mean", "harmonic mean"],
  ["min", "lowest frame"],
];
const NAMED_PICTURE = /^frame (\d+), (reference|distorted|heat), (\d+)x(\d+)$/;
export const MEASURED = "acuity://measurement/"; // reports of a server inside a measurement
const STORED = /^acuity:\/\/(reports\/[A-Za-z0-9-]{1,80}|measurement\/report)$/;

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const listOf = (value) => (Array.isArray(value) ? value : []);
const answerText = (value) => (typeof value === "string" ? value : "");

// The document of a result: its structured content, or its text where a host passes on the text alone.
export function answerDocument(result) {
  if (isObject(result?.structuredContent)) return result.structuredContent;
  for (const block of listOf(result?.content)) {
    if (block?.type !== "text" || typeof block.text !== "string") continue;
    try {
      const found = JSON.parse(block.text);
      if (isObject(found)) return found;
    } catch {
      continue;
    }
  }
  return null;
}

// The sentence of a failed call.
export function answerFailure(result) {
  const said = answerDocument(result)?.error;
  if (typeof said === "string") return said;
  const text = listOf(result?.content).find((block) => block?.type === "text")?.text;
  return answerText(text) || "The call failed, and its answer says no more.";
}

export const isReport = (document) => isObject(document?.pooled_metrics) && Array.isArray(document.frames);
export const isJob = (document) => typeof document?.job_id === "string" && typeof document.status === "string";

// Where the whole report can be read; only addresses that the server is known to have.
export function answerReport(document) {
  return STORED.test(answerText(document.report)) ? document.report : null;
}

export function answerTitle(document) {
  const input = document.acuity?.input;
  const name = baseName(input?.distorted?.path) || "Video quality";
  const reference = baseName(input?.reference?.path);
  const model = answerText(document.model) || answerText(document.acuity?.model);
  const against = [reference && `against ${reference}`, model].filter(Boolean).join(", ");
  return { name, against: document.acuity?.partial ? `${against}, so far` : against };
}

const baseName = (path) => answerText(path).split(/[\\/]/).at(-1);

// The columns in the order in which people look for them: scores first.
export function answerColumns(document, figures) {
  const scores = listOf(document.models).map((model) => model?.name);
  const known = [...figures.columns.keys()];
  const named = known.length ? known : Object.keys(document.pooled_metrics);
  const first = scores.length ? scores : ["vmaf"];
  return [...first.filter((name) => named.includes(name)), ...named.filter((name) => !first.includes(name))];
}

// A card for each score: the mean over the frames, and what else is known of it.
export function answerCards(document) {
  const models = listOf(document.models).filter((model) => isObject(model));
  const pools = document.pooled_metrics;
  const entries = models.length ? models : "vmaf" in pools ? [{ name: "vmaf", ...pools.vmaf }] : [];
  const cards = entries.flatMap((model, at) => {
    const mean = { label: answerLabel(model.name), value: model.mean, detail: `mean, ${answerText(model.label) || document.acuity?.model || "model"}` };
    if (at > 0) return [mean];
    const rest = CARD_FIGURES.map(([key, label]) => ({ label, value: model[key], detail: answerLabel(model.name) }));
    const fifth = { label: "5th percentile", value: model.percentiles?.p5, detail: answerLabel(model.name) };
    return [mean, ...rest, fifth];
  });
  return cards.filter((card) => typeof card.value === "number");
}

export const answerLabel = (name) => (name === "vmaf" ? "VMAF" : String(name));

// Seconds of a frame, where the rate is constant and agrees with the times that the report itself says.
export function answerClock(document) {
  const input = document.acuity?.input;
  const [over, under = "1"] = answerText(input?.reference?.frame_rate).split("/");
  const rate = Number(over) / Number(under);
  if (!(rate > 0) || !Number.isFinite(rate) || input?.reference?.variable_rate) return null;
  const agree = listOf(document.worst).every(
    (entry) => typeof entry?.time === "number" && Math.abs(entry.time - entry.frame / rate) < 0.5 / rate,
  );
  return agree ? (frame) => frame / rate : null;
}

export function answerNotes(document) {
  const notes = listOf(document.notes ?? document.acuity?.notes)
    .filter((note) => typeof note?.text === "string")
    .map((note) => ({ level: note.level === "warning" ? "warning" : "info", text: note.text }));
  const warning = answerText(document.mismatched_model_warning);
  return warning ? [{ level: "warning", text: warning }, ...notes] : notes;
}

// What changed while it was measured, as events of the curve: {row, text}.
export function answerEvents(document, figures) {
  const rows = new Map(figures.frames.map((frame, row) => [frame, row]));
  const steering = document.acuity?.steering;
  const models = listOf(steering?.segments).map((mark) => [mark?.first, `${answerText(mark?.label) || 'another model'} from here on`]);
  const steps = listOf(steering?.subsample).map((mark) => [mark?.first, `every ${Number(mark?.every)} frames from here on`]);
  return [...models, ...steps]
    .filter(([frame]) => frame > 0 && rows.has(frame))
    .map(([frame, text]) => ({ row: rows.get(frame), text }));
}

// The pictures of worst frames that came with the answer: {frame, score, reference, distorted} as data.
export function answerPictures(document, content) {
  const blocks = listOf(content).filter((block) => block?.type === "image" && typeof block.data === "string");
  const found = new Map();
  listOf(document.images).forEach((name, at) => {
    const named = NAMED_PICTURE.exec(answerText(name));
    const block = blocks[at];
    if (named === null || !/^image\/(png|jpeg|webp)$/.test(answerText(block?.mimeType))) return;
    if (!/^[A-Za-z0-9+/=]+$/.test(block.data)) return;
    const frame = Number(named[1]);
    const size = { width: Number(named[3]), height: Number(named[4]) };
    const picture = found.get(frame) ?? { frame, ...answerScore(document, frame), ...size, region: null };
    picture[named[2]] = `data:${block.mimeType};base64,${block.data}`;
    found.set(frame, picture);
  });
  return [...found.values()];
}

function answerScore(document, frame) {
  const entry = listOf(document.worst).find((worst) => worst?.frame === frame);
  return { score: entry?.score ?? null, time: entry?.time ?? null };
}
