// Follows the inspector's events, and knows when they no longer come.

const SILENCE = 10_000;

/** Calls `heard(name, data)` for each event, and `turned(isLive)` when the stream is lost or there again. */
export function follow(names, heard, turned) {
  let last = Date.now(), isLive = null;
  const turn = (now) => {
    if (now === isLive) return;
    const isFirst = isLive === null;
    isLive = now;
    turned(now, isFirst);
  };
  const source = new EventSource("/events");
  source.onopen = () => { last = Date.now(); turn(true); };
  source.onerror = () => turn(false);
  for (const name of names) {
    source.addEventListener(name, (event) => {
      last = Date.now();
      turn(true);
      if (name !== "alive") heard(name, JSON.parse(event.data));
    });
  }
  setInterval(() => { if (Date.now() - last > SILENCE) turn(false); }, 1000);
  addEventListener("pagehide", () => source.close());
}
