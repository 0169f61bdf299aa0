// @ts-check
// Keeps the shell, so that the page opens and says that Silas is not answering instead of not opening at all. Only the
// files listed here are kept; nothing that Silas says is ever cached. The network comes first: the server is near, and
// a page older than its server would be worse than a slow one. It also leads from a notification to its card; it shows
// none by itself, and decides nothing.

const VERSION = '1';
const CACHE = `silas-shell-${VERSION}`;
const SHELL = [
  '/',
  '/app.js',
  '/cards/card.css',
  '/cards/card.js',
  '/cards/answers.js',
  '/cards/change.css',
  '/cards/change.js',
  '/cards/details.js',
  '/cards/diff.js',
  '/cards/dock.css',
  '/cards/dock.js',
  '/cards/evidence.js',
  '/cards/input.css',
  '/cards/loading.js',
  '/cards/model-choice.js',
  '/cards/passkey.js',
  '/cards/patch.js',
  '/cards/payload.js',
  '/cards/quote.js',
  '/cards/risk.js',
  '/cards/secure-input.js',
  '/cards/slide.js',
  '/cards/undo.js',
  '/cards/versions.js',
  '/icons/silas-maskable.svg',
  '/icons/silas.svg',
  '/lib/advanced.js',
  '/lib/asking.js',
  '/lib/bytes.js',
  '/lib/canonical.js',
  '/lib/database.js',
  '/lib/deciding.js',
  '/lib/decision.js',
  '/lib/download.js',
  '/lib/hidden.js',
  '/lib/html.js',
  '/lib/icons.js',
  '/lib/keys.js',
  '/lib/last.js',
  '/lib/leaving.js',
  '/lib/line.js',
  '/lib/listed.js',
  '/lib/notify.js',
  '/lib/outbox.js',
  '/lib/pace.js',
  '/lib/pages.js',
  '/lib/pairing.js',
  '/lib/price.js',
  '/lib/prose.js',
  '/lib/passkeys.js',
  '/lib/router.js',
  '/lib/saying.js',
  '/lib/secure.js',
  '/lib/session.js',
  '/lib/setting-up.js',
  '/lib/socket.js',
  '/lib/store.js',
  '/lib/text.js',
  '/lib/time.js',
  '/lib/under-way.js',
  '/lib/unheard.js',
  '/lib/withdrawals.js',
  '/lib/witness.js',
  '/manifest.webmanifest',
  '/styles/base.css',
  '/styles/reset.css',
  '/styles/tokens.css',
  '/surfaces/activity/activity.css',
  '/surfaces/activity/activity.js',
  '/surfaces/activity/allowed.js',
  '/surfaces/activity/evidence.js',
  '/surfaces/activity/filters.js',
  '/surfaces/activity/happened.js',
  '/surfaces/activity/measures.js',
  '/surfaces/activity/sum.js',
  '/surfaces/activity/works.js',
  '/surfaces/api/api.css',
  '/surfaces/api/api.js',
  '/surfaces/frame/frame.css',
  '/surfaces/frame/frame.js',
  '/surfaces/frame/header.js',
  '/surfaces/frame/notice.js',
  '/surfaces/frame/sheet.js',
  '/surfaces/frame/sheets.js',
  '/surfaces/pair/pair.css',
  '/surfaces/pair/pair.js',
  '/surfaces/proof/proof.css',
  '/surfaces/proof/proof.js',
  '/surfaces/review/lines.js',
  '/surfaces/review/review.css',
  '/surfaces/review/review.js',
  '/surfaces/stream/composer.js',
  '/surfaces/stream/stream.css',
  '/surfaces/stream/stream.js',
  '/surfaces/stream/under-way.js',
  '/surfaces/stream/welcome.js',
  '/surfaces/stream/work.js',
  '/vendor/hooks.js',
  '/vendor/htm.js',
  '/vendor/preact.js',
];

const worker = /** @type {any} */ (self);

worker.addEventListener('install', (/** @type {any} */ event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(SHELL.map((path) => new Request(path, { cache: 'no-store' })))).then(() => worker.skipWaiting()));
});

worker.addEventListener('activate', (/** @type {any} */ event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => worker.clients.claim()));
});

worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== 'GET' || origin !== location.origin || !SHELL.includes(pathname)) return;
  event.respondWith(fresh(pathname));
});

/** Never out of the browser's own cache: whoever held this port while Silas was away decided what is in there. @param {string} pathname */
async function fresh(pathname) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(pathname, { cache: 'no-store' });
    if (response.ok) await cache.put(pathname, response.clone());
    return response;
  } catch (offline) {
    const kept = await cache.match(pathname);
    if (kept) return kept;
    throw offline;
  }
}

worker.addEventListener('notificationclick', (/** @type {any} */ event) => {
  event.notification.close();
  event.waitUntil(lead(String(event.notification.data?.card ?? '')));
});

/** To the page that is open, or to a new one. @param {string} card */
async function lead(card) {
  const pages = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const page = pages.find((/** @type {any} */ open) => new URL(open.url).pathname === '/');
  if (!page) return worker.clients.openWindow(`/#review/${card}`);
  page.postMessage({ show: card });
  // Without a tap there is no right to it; the card is shown all the same.
  return page.focus().catch(() => {});
}
