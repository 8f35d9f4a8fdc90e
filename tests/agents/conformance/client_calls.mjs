// Calls tools of one server with one of the official TypeScript clients, and prints what the caller sees.
//
//     node client_calls.mjs '{"folder": …, "library": "1" | "2", "server": {…}, "calls": [[name, arguments], …]}'
//
// `folder` has the clients in its node_modules; `server` is {"command", "args", "env"} or {"url"}.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { folder, library, server, calls } = JSON.parse(process.argv[2]);
const require = createRequire(join(folder, 'any.js'));
const load = name => import(pathToFileURL(require.resolve(name)).href);

const MODULES = {
    1: ['client/index.js', 'client/stdio.js', 'client/streamableHttp.js'].map(name => `@modelcontextprotocol/sdk/${name}`),
    2: ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio']
};
const found = Object.assign({}, ...(await Promise.all(MODULES[library].map(load))));

const transport = server.url
    ? new found.StreamableHTTPClientTransport(new URL(server.url))
    : new found.StdioClientTransport({ ...server, stderr: 'ignore' });
const client = new found.Client({ name: 'calls', version: '1' });
await client.connect(transport);

// Clients check structured content against the schemas that they have been told.
const { tools } = await client.listTools();
const answers = [];
for (const [name, args] of calls.length ? calls : tools.map(tool => [tool.name, { no_such_argument: null }])) {
    try {
        const { isError, content } = await client.callTool({ name, arguments: args });
        answers.push({ name, isError: Boolean(isError), text: content[0].text });
    } catch (error) {
        answers.push({ name, thrown: String(error) });
    }
}
await client.close();
console.log(JSON.stringify(answers));
