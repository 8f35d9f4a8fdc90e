// Has one of the official TypeScript clients count with a server that is killed meanwhile, and prints what the
// caller sees, a line of JSON for each: the session's id, progress, log messages, the error of the call, what the session knows.
//
//     node client_resumes.mjs '{"folder": …, "library": "1" | "2", "url": …, "upto": 30}'
//
// `folder` has the clients in its node_modules.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { folder, library, url, upto } = JSON.parse(process.argv[2]);
const require = createRequire(join(folder, 'any.js'));
const load = name => import(pathToFileURL(require.resolve(name)).href);

const MODULES = {
    1: ['client/index.js', 'client/streamableHttp.js'].map(name => `@modelcontextprotocol/sdk/${name}`),
    2: ['@modelcontextprotocol/client']
};
const found = Object.assign({}, ...(await Promise.all(MODULES[library].map(load))));
const say = (kind, value) => console.log(JSON.stringify({ kind, value }));

const client = new found.Client({ name: 'resumes', version: '1' });
client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/message') say(params.logger, params.data);
};
const transport = new found.StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
say('id', transport.sessionId);
await client.setLoggingLevel('warning');

const call = (name, args, options) =>
    library === '1'
        ? client.callTool({ name, arguments: args }, undefined, options)
        : client.callTool({ name, arguments: args }, options);
try {
    await call('count', { upto, stay: true }, { onprogress: ({ progress }) => say('progress', progress) });
} catch (error) {
    say('error', { code: error.code, message: error.message });
}
say('recall', (await call('recall', {})).structuredContent);
await client.close();
