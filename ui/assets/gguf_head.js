// A GGUF file → its header without the tokenizer's lists, which are most of it: some 100 kB of a
// file of any size. The result is a GGUF header again, so that the server reads it like any other.
const FIRST = 1 << 20, MOST = 1 << 28, RAW = 1 << 22;
const SIZES = [1, 1, 2, 2, 4, 4, 4, 1, null, null, 8, 8, 8]; // value type → bytes; 8 text, 9 list

function walk(buffer, fileSize) {
  const view = new DataView(buffer), words = new TextDecoder();
  let at = 8;
  const u32 = () => { at += 4; return view.getUint32(at - 4, true); };
  const count = () => { // sizes beyond what a file can hold are lies: the server says so
    at += 8;
    const found = Number(view.getBigUint64(at - 8, true));
    if (found > fileSize) throw new TypeError("no count");
    return found;
  };
  const text = () => { const n = count(); at += n; return n; };
  const value = (type) => {
    if (type === 8) { text(); return; }
    if (type !== 9) {
      if (!SIZES[type]) throw new TypeError("no value type");
      at += SIZES[type];
      return;
    }
    const inner = u32(), n = count();
    if (inner === 8) for (let i = 0; i < n; i++) text();
    else if (SIZES[inner]) at += n * SIZES[inner];
    else throw new TypeError("no value type");
  };
  const numTensors = count(), numKeys = count(), kept = [];
  for (let i = 0; i < numKeys; i++) {
    const start = at, length = text();
    if (at > buffer.byteLength) throw new RangeError("more is needed");
    const key = words.decode(new Uint8Array(buffer, at - length, length));
    value(u32());
    if (!key.startsWith("tokenizer.")) kept.push([start, at]);
  }
  const numKept = kept.length, start = at;
  for (let i = 0; i < numTensors; i++) {
    text();
    const dimensions = u32();
    at += 8 * dimensions + 12; // lengths, type, offset
  }
  if (at > buffer.byteLength) throw new RangeError("more is needed");
  kept.push([start, at]);
  return [numKept, kept];
}

function joined(buffer, numKept, kept) {
  const counts = new ArrayBuffer(8);
  new DataView(counts).setBigUint64(0, BigInt(numKept), true);
  return new Blob([buffer.slice(0, 16), counts, ...kept.map(([from, to]) => buffer.slice(from, to))]);
}

async function head(file) {
  for (let size = FIRST; ; size *= 4) {
    const buffer = await file.slice(0, Math.min(size, MOST)).arrayBuffer();
    const bytes = new Uint8Array(buffer);
    const known = String.fromCharCode(...bytes.slice(0, 4)) === "GGUF" && [2, 3].includes(bytes[4]);
    if (!known) return file.slice(0, RAW);
    try {
      return joined(buffer, ...walk(buffer, file.size));
    } catch (error) {
      const more = error instanceof RangeError && size < MOST && size < file.size;
      if (!more) return file.slice(0, RAW);
    }
  }
}

async function encoded(blob) {
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(",") + 1);
}

export default function ({ parentElement, setTriggerValue }) {
  const place = parentElement.querySelector(".drop"), said = parentElement.querySelector("p");
  const input = place.querySelector("input");
  const take = async (file) => {
    if (!file) return;
    said.textContent = `Reading the header of ${file.name}`;
    try {
      setTriggerValue("head", { name: file.name, data: await encoded(await head(file)) });
      said.textContent = "";
    } catch {
      said.textContent = `${file.name} cannot be read.`;
    }
  };
  input.onchange = () => take(input.files[0]);
  place.ondragover = (event) => { event.preventDefault(); place.classList.add("over"); };
  place.ondragleave = () => place.classList.remove("over");
  place.ondrop = (event) => {
    event.preventDefault();
    place.classList.remove("over");
    take(event.dataTransfer.files[0]);
  };
}
