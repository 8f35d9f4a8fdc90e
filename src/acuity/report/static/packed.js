// Curves as the page carries them: differences of whole numbers, packed and deflated.

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Each number is the zigzag of its difference to the one before, seven bits a byte, the lowest first.
// Sums stay within 2^53, so they are exact; bit operations would end at 2^31.
function unzigzagged(bytes, most) {
  const found = new Float64Array(most);
  let length = 0;
  let value = 0;
  for (let place = 0; place < bytes.length && length < most;) {
    let zigzag = 0;
    let scale = 1;
    let byte;
    do {
      byte = bytes[place];
      place += 1;
      zigzag += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    value += zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
    found[length] = value;
    length += 1;
  }
  return found.subarray(0, length);
}

// The values; of ranges the lowest and highest of each `bucket` rows.
export async function unpack(packed) {
  const ranges = packed.encoding === 'ranges';
  const bucket = ranges ? packed.bucket : 1;
  const bytes = await inflated(packed.data);
  const values = unzigzagged(bytes, ranges ? bytes.length : packed.count);
  const scale = 10 ** packed.decimals;
  for (let index = 0; index < values.length; index += 1) values[index] /= scale;
  const absent = packed.absent ? unzigzagged(await inflated(packed.absent), packed.count) : [];
  for (const place of absent) values.fill(NaN, ranges ? place * 2 : place, ranges ? place * 2 + 2 : place + 1);
  const common = { bucket, decimals: packed.decimals, rows: packed.count };
  if (!ranges) return { values, ...common };
  const low = values.filter((_, index) => index % 2 === 0);
  return { values: low, low, high: values.filter((_, index) => index % 2 === 1), ...common };
}
