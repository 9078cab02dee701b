// Asks the program of the page, and tells failures with their remedy.

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

async function ask(path, options) {
  let response, body;
  try {
    response = await fetch(path, options);
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (!response) throw new Failure("lost", LOST, true);
    // What is no JSON has no message of its own.
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
