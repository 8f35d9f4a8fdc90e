// A session of the server's own protocol: Streamable HTTP at /mcp, JSON-RPC in POSTs, the token in a header.
//
// A session that the server has forgotten is begun anew; the caller hears of nothing. The token comes in the
// fragment of the page's address, which browsers send to nobody, and stays in this tab.

const ENDPOINT = '/mcp';
const VERSION = '2025-11-25';
const KEY = 'acuity-live-token';
const NAME = 'acuity-live-page'; // by which the server knows that a page is open
const SILENCE = 15000; // milliseconds for an answer

export class Unauthorized extends Error {}
export class Refusal extends Error {} // the server understood, and says why not

// The token from the address, which loses it, or from before a reload.
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get('token');
  if (found !== null) {
    sessionStorage.setItem(KEY, found);
    history.replaceState(null, '', location.pathname);
  }
}

export const setToken = (token) => sessionStorage.setItem(KEY, token);

export class LiveSession {
  constructor() {
    this.id = null;
    this.beginning = null; // the handshake under way
    this.last = 0;
  }

  // What a tool answers; Refusal where it says that it can't be.
  async call(name, args = {}) {
    const result = await this.request('tools/call', { name, arguments: args });
    if (result.isError) throw new Refusal(refusal(result));
    return result.structuredContent;
  }

  // The contents of a resource.
  async read(uri) {
    return (await this.request('resources/read', { uri })).contents[0];
  }

  async request(method, params) {
    for (let attempt = 0; ; attempt += 1) {
      await this.begin();
      const response = await this.post({ jsonrpc: '2.0', id: (this.last += 1), method, params });
      if (response.status === 404 && attempt === 0) {
        this.id = null; // it was forgotten
        continue;
      }
      const message = await answer(response);
      if (message.error) throw new Refusal(message.error.message);
      return message.result;
    }
  }

  begin() {
    if (this.id !== null) return Promise.resolve();
    this.beginning ??= this.shakeHands().finally(() => { this.beginning = null; });
    return this.beginning;
  }

  async shakeHands() {
    const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: NAME, version: '1' } };
    const response = await this.post({ jsonrpc: '2.0', id: (this.last += 1), method: 'initialize', params });
    const message = await answer(response);
    if (message.error) throw new Refusal(message.error.message);
    this.id = response.headers.get('Mcp-Session-Id');
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  // Tell the server that the page is closed: pauses of this page end with it.
  end() {
    if (this.id === null) return;
    fetch(ENDPOINT, { method: 'DELETE', headers: this.headers(), keepalive: true }).catch(() => {});
    this.id = null;
  }

  post(message) {
    return fetch(ENDPOINT, {
      method: 'POST',
      headers: this.headers(),
      body: JSON.stringify(message),
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(SILENCE),
    });
  }

  headers() {
    const token = sessionStorage.getItem(KEY);
    return {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(this.id === null ? {} : { 'Mcp-Session-Id': this.id, 'MCP-Protocol-Version': VERSION }),
    };
  }
}

// The sentence of a result that is an error: {"error": …} as text.
function refusal(result) {
  const text = result.content?.[0]?.text ?? 'the server refused';
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text;
  }
}

// The message in a response: JSON, or the last event of a stream.
async function answer(response) {
  const text = await response.text();
  let message = null;
  try {
    const events = (response.headers.get('Content-Type') ?? '').startsWith('text/event-stream');
    message = JSON.parse(events ? text.split('\n').filter((line) => line.startsWith('data: {')).at(-1).slice(6) : text);
  } catch { /* no JSON */ }
  if (response.status === 401 || response.status === 429) throw new Unauthorized(message?.error?.message ?? 'a token is needed');
  if (message === null || (!response.ok && !message.error)) throw new Error(`the server answered ${response.status}`);
  return message;
}
