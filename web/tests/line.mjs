// The line between a browser and Silas, which can be cut: a proxy that a context of the browser goes through. It changes
// nothing of what passes.

import { createServer, request as ask } from 'node:http';
import { connect } from 'node:net';

export async function startLine() {
  const sockets = new Set();
  let isCut = false;
  const keep = (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((request, response) => {
    const { host, pathname, search } = new URL(request.url);
    const [hostname, port] = host.split(':');
    const onward = ask({ hostname, port, path: pathname + search, method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  // A WebSocket, as browsers ask a proxy for one.
  server.on('connect', ({ url }, near, head) => {
    const [hostname, port] = url.split(':');
    const far = connect(Number(port), hostname, () => {
      near.write('HTTP/1.1 200 Connected\r\n\r\n');
      far.write(head);
      near.pipe(far).pipe(near);
    });
    keep(far);
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
  });
  server.on('connection', (socket) => {
    keep(socket);
    if (isCut) socket.destroy();
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    /** For a context whose pages are to go through it. */
    proxy: { server: `http://127.0.0.1:${server.address().port}`, bypass: '<-loopback>' },
    /** Everything that is open breaks, and nothing new comes through. */
    cut() {
      isCut = true;
      sockets.forEach((socket) => socket.destroy());
    },
    mend() {
      isCut = false;
    },
    close: () => new Promise((resolve) => {
      sockets.forEach((socket) => socket.destroy());
      server.close(resolve);
    }),
  };
}
