// A search engine on this machine for the tests, in the form of SearXNG: finds what it was given, and remembers every question.

import { createServer } from 'node:http';

/** @param {string} finds What every search finds. */
export async function startSearch(finds) {
  const queries = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { searchParams } = new URL(request.url, 'http://localhost');
    queries.push(searchParams.get('q') ?? new URLSearchParams(body).get('q'));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ results: [{ title: 'Tides', url: 'http://tides.example/', content: finds }] }));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${server.address().port}/search`, queries, close: () => { server.closeAllConnections(); server.close(); } };
}
