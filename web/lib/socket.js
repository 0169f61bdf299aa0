// @ts-check
// The WebSocket: opens, reports what arrives, and tries again after a loss, ever more slowly. Knows no message by name.

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;
/** A connection that says nothing for this long at the start is given up. */
const OPENING_MS = 10_000;
/** A server that has said once that the line is alive says so every 20 seconds; after this long the line is not. */
const SILENCE_MS = 65_000;
/** The server does not know this device. */
export const NOT_KNOWN = 4001;

/** A machine without any network still reaches a Silas of its own. */
export const isOffline = () => !navigator.onLine && !['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);

/**
 * @param {object} on
 * @param {(message: import('../protocol.js').ServerMessage, reply: (message: import('../protocol.js').ClientMessage) => void) => void} on.message `reply`: goes out on the connection that asked, and only there.
 * @param {() => void} on.connecting
 * @param {(retryAt: number) => void} on.lost
 * @param {() => void} on.notKnown
 */
export function openSocket(on) {
  let wait = FIRST_WAIT_MS;
  /** @type {WebSocket | null} */
  let socket = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let silence;
  let ended = false;
  /** Whether this connection has said who it is. A page that was asleep and said nothing is late, not unknown. */
  let answered = false;
  /** Whether the server knows who is there. Whatever else is said before that would count as a wrong answer to who it is. */
  let isSettled = false;

  function connect() {
    clearTimeout(timer);
    if (ended || socket) return;
    on.connecting();
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const current = new WebSocket(`${scheme}//${location.host}/ws`);
    socket = current;
    answered = isSettled = false;
    timer = setTimeout(() => current.close(), OPENING_MS);
    const reply = (/** @type {import('../protocol.js').ClientMessage} */ message) => {
      if (socket !== current || current.readyState !== WebSocket.OPEN) return;
      current.send(JSON.stringify(message));
      answered = true;
    };
    current.onmessage = ({ data }) => on.message(JSON.parse(data), reply);
    current.onclose = ({ code }) => {
      if (socket !== current) return;
      clearTimeout(timer);
      clearTimeout(silence);
      socket = null;
      if (ended) return;
      if (code === NOT_KNOWN && answered) {
        ended = true;
        on.notKnown();
        return;
      }
      later();
    };
  }

  function later() {
    timer = setTimeout(connect, wait);
    on.lost(Date.now() + wait);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }

  /** Nobody is there any more, and nobody would answer a goodbye. */
  function giveUp() {
    clearTimeout(timer);
    clearTimeout(silence);
    const gone = socket;
    socket = null;
    gone?.close();
    later();
  }

  const onVisible = () => void (document.visibilityState === 'visible' && connect());
  // Without a network the line is dead, whether it knows or not: what is pressed now would wait unseen.
  const onOffline = () => void (socket && isOffline() && giveUp());
  addEventListener('online', connect);
  addEventListener('offline', onOffline);
  document.addEventListener('visibilitychange', onVisible);
  connect();

  return {
    /** @param {import('../protocol.js').ClientMessage} message */
    send(message) {
      if (!isSettled || socket?.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(message));
      return true;
    },
    retry: connect,
    /** The line is alive, and will be heard from again soon. */
    beat() {
      clearTimeout(silence);
      silence = setTimeout(giveUp, SILENCE_MS);
    },
    /** The session is open: the next loss starts with a short wait again. */
    settled() {
      clearTimeout(timer);
      isSettled = true;
      wait = FIRST_WAIT_MS;
    },
    end() {
      ended = true;
      clearTimeout(timer);
      clearTimeout(silence);
      removeEventListener('online', connect);
      removeEventListener('offline', onOffline);
      document.removeEventListener('visibilitychange', onVisible);
      socket?.close();
    },
  };
}
