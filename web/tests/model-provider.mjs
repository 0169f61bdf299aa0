// A provider of models for the tests, on this machine: speaks the language of chat completions, says and
// calls what it is told, as slowly as it is told.

import { createServer } from 'node:http';

const event = (delta, finish_reason) => `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** The decision that answers at once, as the proxy gives it. */
export const direct = (message) => JSON.stringify({ route: 'direct', reason: 'words', interaction_register: 'status', interaction_mode: 'default_and_offer', context_profile: 'conversation', continuation_of: null, response: { message } });

/** @param {(request: { body: string, authorization: string | undefined }, say: (text: string) => void, call: (name: string, args: object) => void) => Promise<number | void> | number | void} answer Says its words, or calls a tool; a number is a status instead. */
export async function startProvider(answer) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const write = (delta) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ role: 'assistant', ...delta }, null));
    };
    const say = (content) => write({ content });
    const call = (name, args) => write({ content: null, tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
    const status = await answer({ body, authorization: request.headers.authorization }, say, call);
    if (status) return response.writeHead(status).end('{"error":{"message":"refused"}}');
    return response.end(`${event({}, 'stop')}data: [DONE]\n\n`);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => { server.closeAllConnections(); server.close(); } };
}
