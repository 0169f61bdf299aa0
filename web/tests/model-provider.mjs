// A provider of models for the tests, on this machine: speaks the language of chat completions, and says what it is told,
// as slowly as it is told.

import { createServer } from 'node:http';

const event = (delta, finish_reason) => `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** The decision that answers at once, as the proxy gives it. */
export const direct = (message) => JSON.stringify({ route: 'direct', reason: 'words', interaction_register: 'status', interaction_mode: 'default_and_offer', context_profile: 'conversation', continuation_of: null, response: { message } });

/** @param {(request: { body: string, authorization: string | undefined }, say: (text: string) => void) => Promise<number | void> | number | void} answer Says its words; a number is a status instead. */
export async function startProvider(answer) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const status = await answer({ body, authorization: request.headers.authorization }, (text) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ role: 'assistant', content: text }, null));
    });
    if (status) return response.writeHead(status).end('{"error":{"message":"refused"}}');
    return response.end(`${event({}, 'stop')}data: [DONE]\n\n`);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => { server.closeAllConnections(); server.close(); } };
}
