// The server as the page reaches it: JSON with the token in a header, and the live feed.
//
// The feed is read with fetch, because EventSource can't send the token. It brings the whole state each second,
// so a lost connection is noticed at once and nothing has to be caught up on.

const KEY = "acuity-admin-token";
const SILENCE = 5000; // milliseconds without a state after which the server counts as gone
const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;

export class Unauthorized extends Error {}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  clear: () => sessionStorage.removeItem(KEY),
};

const headers = () => ({ Authorization: `Bearer ${token.get()}` });

async function problem(response) {
  let sentence = `the server answered ${response.status}`;
  try {
    const body = await response.json();
    sentence = (typeof body.error === "string" ? body.error : body.error?.message) ?? sentence;
  } catch { /* no JSON */ }
  return response.status === 401 || response.status === 429 ? new Unauthorized(sentence) : new Error(sentence);
}

export async function ask(path) {
  const response = await fetch(path, { headers: headers(), cache: "no-store" });
  if (!response.ok) throw await problem(response);
  return response.json();
}

export async function act(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw await problem(response);
  return response.json();
}

// Calls back with each event; `status` is told of "live", "reconnecting" and why.
export class Feed {
  constructor({ state, audit, status, unauthorized }) {
    this.told = { state, audit };
    this.status = status;
    this.unauthorized = unauthorized;
    this.abort = null;
    this.run = 0; // the number of the run that counts
    this.running = false;
  }

  async start() {
    if (this.running) return;
    this.running = true;
    this.run += 1;
    const { run } = this;
    let wait = FIRST_WAIT;
    while (run === this.run) {
      try {
        await this.read(() => { wait = FIRST_WAIT; });
      } catch (error) {
        if (run !== this.run) return;
        if (error instanceof Unauthorized) {
          this.stop();
          this.unauthorized(error.message);
          return;
        }
      }
      if (run !== this.run) return;
      this.status("reconnecting");
      await new Promise((resolve) => { setTimeout(resolve, wait); });
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
  }

  stop() {
    this.run += 1;
    this.running = false;
    this.abort?.abort();
  }

  async read(heard) {
    const abort = new AbortController();
    this.abort = abort;
    let watch = 0;
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => abort.abort(), SILENCE);
    };
    alive();
    try {
      const response = await fetch("/admin/events", {
        headers: headers(), cache: "no-store", signal: abort.signal,
      });
      if (!response.ok) throw await problem(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        alive();
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) this.hear(part, heard);
      }
    } finally {
      clearTimeout(watch);
    }
  }

  hear(text, heard) {
    const fields = Object.fromEntries(text.split("\n").map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    }));
    const tell = this.told[fields.event];
    if (tell === undefined || fields.data === undefined) return;
    heard();
    this.status("live");
    tell(JSON.parse(fields.data));
  }
}
