/**
 * An example worker: tools, a resource and a prompt behind Longwire.
 *
 *     longwire serve --http 8080 --worker-command 'node examples/workers/typescript/worker.ts --socket {socket}'
 *     longwire worker-check /tmp/worker.sock      # while it runs with --socket /tmp/worker.sock
 *
 * Node 22.18 and later run it as it is. With an older Node: npx --yes tsx worker.ts.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { Worker, type Json } from "./longwire_worker.ts";

const worker = new Worker("example-typescript", "1.0");

const nothing: Json = { type: "object", properties: {} };
const line: Json = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

worker.tool("echo", "Answers with its argument.", line, ({ text }) => String(text));

worker.tool(
  "count",
  "Counts up to a number and reports progress. Ends at once when it is cancelled.",
  {
    type: "object",
    properties: {
      to: { type: "integer", minimum: 1 },
      pause: { type: "number", description: "Seconds between two numbers, 0.01 if left out." },
    },
    required: ["to"],
  },
  async ({ to, pause = 0.01 }, call) => {
    for (let number = 1; number <= to; number++) {
      call.progress(number, to, `at ${number}`);
      await sleep(pause * 1000, undefined, { signal: call.signal }); // other calls run meanwhile
    }
    return `counted to ${to}`;
  },
);

worker.tool("ask", "Asks for a name and a colour, and says what the answers were.", nothing, async (_, call) => {
  const form = (field: string): Json => ({
    type: "object",
    properties: { [field]: { type: "string" } },
    required: [field],
  });
  const name = await call.elicit("name", "Your name?", form("name"));
  if (name.action !== "accept") return "Never mind.";
  const who = name.content?.name;
  const colour = await call.elicit("colour", `Which colour do you like, ${who}?`, form("colour"));
  return colour.action === "accept" ? `${who} likes ${colour.content?.colour}.` : `${who} likes none.`;
});

worker.tool("visits", "Says how often it was called in this session. The runtime keeps the number.", nothing, (_, call) => {
  if (call.sessionId === null) return "There is no session to count in.";
  const visits = (call.kept.visits ?? 0) + 1;
  call.state = { ...call.kept, visits };
  return `visit ${visits}`;
});

worker.tool("announce", "Sends a line to all sessions.", line, ({ text }) => {
  worker.notify(null, "notifications/message", { level: "info", data: text });
  return "announced";
});

worker.resource("example://language", "language", "text/plain", () => `TypeScript on Node ${process.version}`);

worker.prompt(
  "greet",
  "Asks for a greeting.",
  [{ name: "name", description: "Whom to greet.", required: true }],
  ({ name = "everybody" }) => `Greet ${name} in one sentence.`,
);

const { values } = parseArgs({ options: { socket: { type: "string" } } });
const path = values.socket ?? process.env.LONGWIRE_WORKER_SOCKET;
if (!path) {
  console.error("usage: node worker.ts --socket PATH");
  process.exit(2);
}
worker.run(path);
