// Follows the inspector's events, and knows when they no longer come.

const SILENCE = 10_000;

/**
 * Calls `heard(name)` for each event, and `turned(isLive, isFirst)` when the stream is lost or there again.
 *
 * A page that nobody sees holds no stream, as browsers open six connections to a host and no more, for all its tabs
 * together. When it is seen again it has missed something: `turned(true, false)`.
 */
export function follow(names, heard, turned) {
  let last = Date.now(), isLive = null, source = null;
  const turn = (now) => {
    if (now === isLive) return;
    const isFirst = isLive === null;
    isLive = now;
    turned(now, isFirst);
  };
  const open = () => {
    if (source) return;
    last = Date.now();
    source = new EventSource("/events");
    source.onopen = () => { last = Date.now(); turn(true); };
    source.onerror = () => turn(false);
    for (const name of names) {
      source.addEventListener(name, () => {
        last = Date.now();
        turn(true);
        if (name !== "alive") heard(name);
      });
    }
  };
  const close = () => {
    source?.close();
    source = null;
  };
  setInterval(() => { if (source && Date.now() - last > SILENCE) turn(false); }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    open();
    if (isLive) turned(true, false);
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}
