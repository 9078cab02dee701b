// Sends requests to the program of the page, and turns failures into messages with a remedy.

export class Failure extends Error {
  constructor(code, message, isLost = false) {
    super(message);
    this.code = code;
    this.isLost = isLost;
  }
}

/** The page's program and its command. */
const { program = "inspector", command = "bothy inspect" } = document.documentElement.dataset;
const LOST = `The ${program} does not answer. Run \`${command}\` again and open the address that it prints.`;

/** A whole number with more digits than the language's own numbers keep. */
export class Whole {
  constructor(digits) { this.digits = digits; }
  toString() { return this.digits; }
  toJSON() { return JSON.rawJSON ? JSON.rawJSON(this.digits) : this.digits; }
}

const isLong = (source) => /^-?\d{16,}$/.test(source) && !Number.isSafeInteger(Number(source));

/** JSON with each digit of its whole numbers, where the browser gives them. */
export function parsed(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, context) => typeof value === "number" && isLong(context?.source ?? "") ? new Whole(context.source) : value);
}

async function ask(path, options) {
  let response, body;
  try {
    response = await fetch(path, options);
    body = parsed(await response.text());
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (!response) throw new Failure("lost", LOST, true);
    // A body other than JSON has no message.
  }
  if (response.ok && body) return body;
  throw new Failure(body?.error?.code ?? "failed", body?.error?.message ?? `The ${program} failed (${response.status}).`,
    response.status === 401);
}

/** Reads; parameters that are empty are left out. */
export function get(path, parameters = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return ask(text ? `${path}?${text}` : path, { signal });
}

/** Changes something. The header is one that no other site's form can send. */
export function post(path, body = {}) {
  return ask(path, {
    method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-Bothy-Inspector": "1" },
  });
}
