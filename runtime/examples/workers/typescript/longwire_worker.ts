/**
 * A worker of Longwire in TypeScript: frames over a Unix socket, many calls at once.
 *
 * A handler is an async function; an AbortSignal tells it that its client has cancelled. What a worker has to do is in
 * docs/worker-contract.md. Needs Node 22.18 or later, which runs TypeScript as it is, and no packages.
 */

import { unlinkSync } from "node:fs";
import { createServer, type Socket } from "node:net";

export type Json = Record<string, any>;
export type Elicited = { action: "accept" | "decline" | "cancel"; content?: Json };
type Handler = (call: Call) => Json | Promise<Json>;
type ToolHandler = (args: Json, call: Call) => string | Json | Promise<string | Json>;

const CONTRACT = 1;
const MAX_FRAME = 16 << 20; // bytes
const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]; // with a handshake, newest first
const STATELESS = "2026-07-28"; // without one

/** A failure whose words are for the model to read. The words of other errors go to the log alone. */
export class ToolError extends Error {}

/** A handler returned what can't be sent. */
class ContractError extends Error {}

/** An answer of JSON-RPC that is an error. */
export class RpcError extends Error {
  code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The client is asked by the call's answer and calls again with what it said (version 2026-07-28). */
class InputRequired extends Error {
  requests: Json;
  state: string;

  constructor(requests: Json, state: string) {
    super("input required");
    this.requests = requests;
    this.state = state;
  }
}

/** One request of a client, and what its handler may do while it runs. */
export class Call {
  readonly envelope: Json;
  readonly params: Json;
  state: Json | undefined; // set it to change what the session keeps
  private readonly connection: Connection;
  private readonly aborting = new AbortController();
  private readonly questions = new Map<string, (answer: Json) => void>();
  private asked = 0;

  constructor(connection: Connection, envelope: Json) {
    this.connection = connection;
    this.envelope = envelope;
    this.params = envelope.jsonrpc.params ?? {};
  }

  /** The id of the session; null if the client has none. */
  get sessionId(): string | null {
    return this.envelope.session_id;
  }

  get stateless(): boolean {
    return this.envelope.protocol_version >= STATELESS;
  }

  /** The values that are kept with the session, by the runtime: they survive this process. */
  get kept(): Json {
    return this.state ?? this.envelope.session?.state ?? {};
  }

  /** Aborted when the call is over for its client. */
  get signal(): AbortSignal {
    return this.aborting.signal;
  }

  cancel(): void {
    this.aborting.abort(new Error("cancelled"));
  }

  /** Tells the client how far the call is, if it wants to know. */
  progress(progress: number, total?: number, message?: string): void {
    const progressToken = this.params._meta?.progressToken;
    if (progressToken !== undefined) {
      this.send({ method: "notifications/progress", params: { progressToken, progress, total, message } });
    }
  }

  /**
   * Asks the client's user to fill in a form.
   *
   * In a session the question goes out while the call runs. Without one the call ends here, and the client calls again
   * with the answer: the handler runs from its beginning, and each question that has an answer returns it.
   */
  async elicit(key: string, message: string, requestedSchema: Json): Promise<Elicited> {
    if (!this.envelope.client?.capabilities?.elicitation) {
      throw new ToolError("this client has nobody to ask");
    }
    const params = { message, requestedSchema };
    if (this.stateless) {
      const known = { ...JSON.parse(this.params.requestState ?? "{}"), ...this.params.inputResponses };
      if (known[key] === undefined) {
        const form = { method: "elicitation/create", params: { mode: "form", ...params } };
        throw new InputRequired({ [key]: form }, JSON.stringify(known));
      }
      return known[key];
    }
    const answer = await this.request("elicitation/create", params);
    if (answer.error) {
      throw new ToolError(`the client did not answer: ${answer.error.message}`);
    }
    return answer.result;
  }

  /** Sends a request to the client and waits for its answer. */
  request(method: string, params: Json): Promise<Json> {
    const id = `q${++this.asked}`;
    return new Promise((resolve, reject) => {
      this.questions.set(id, resolve);
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
      this.send({ id, method, params });
    });
  }

  /** Takes the client's answer to a request; one that nobody asked for has no effect. */
  answered(answer: Json): void {
    this.questions.get(answer.id)?.(answer);
    this.questions.delete(answer.id);
  }

  /** Sends a notification, or a request if it has an id, before the answer. */
  send(message: Json): void {
    this.connection.write("messages", { id: this.envelope.id, messages: [wrapped(message)] });
  }
}

/** One connection of a runtime: frames in and out. */
class Connection {
  readonly calls = new Map<string, Call>();
  private readonly socket: Socket;
  private chunks: Buffer[] = [];
  private size = 0;

  constructor(socket: Socket, receive: (connection: Connection, envelope: Json) => void) {
    this.socket = socket;
    socket.on("data", (data) => {
      try {
        for (const envelope of this.split(data)) receive(this, envelope);
      } catch {
        socket.destroy(); // what came is not the contract's
      }
    });
    socket.on("drain", () => socket.resume());
    socket.on("error", () => {}); // "close" follows
  }

  /** Sends a frame; throws if JSON can't hold it. */
  write(event: string, fields: Json): void {
    let body = Buffer.from(JSON.stringify({ mode: "mcp", event, ...fields }));
    if (body.length > MAX_FRAME) {
      if (event !== "result") return; // a message that is too large for the runtime
      const error = "the answer is larger than 16 MiB";
      const said = { mode: "mcp", event: "error", id: fields.id, error, error_class: "app_contract_error" };
      body = Buffer.from(JSON.stringify(said));
    }
    const head = Buffer.alloc(4);
    head.writeUInt32BE(body.length);
    // A runtime that doesn't read gets no more work done until it does.
    if (!this.socket.destroyed && !this.socket.write(Buffer.concat([head, body]))) this.socket.pause();
  }

  /** The envelopes that are complete with this data. */
  private *split(data: Buffer): Generator<Json> {
    this.chunks.push(data);
    this.size += data.length;
    while (this.size >= 4) {
      if (this.chunks[0].length < 4) this.chunks = [Buffer.concat(this.chunks)];
      const length = this.chunks[0].readUInt32BE();
      if (length < 1 || length > MAX_FRAME) throw new Error("a frame of a wrong length");
      if (this.size < 4 + length) return;
      const all = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
      this.chunks = [all.subarray(4 + length)];
      this.size -= 4 + length;
      const envelope = JSON.parse(all.toString("utf8", 4, 4 + length));
      if (typeof envelope !== "object" || envelope === null || Array.isArray(envelope)) throw new Error("no object");
      yield envelope;
    }
  }
}

type Entry<T> = { about: Json; handler: T };

/** The worker: what it offers, and the socket that serves it. */
export class Worker {
  readonly name: string;
  readonly version: string;
  private readonly maxInFlight: number;
  private readonly methods = new Map<string, Handler>();
  private readonly tools = new Map<string, Entry<ToolHandler>>();
  private readonly resources = new Map<string, Entry<(call: Call) => string | Promise<string>>>();
  private readonly prompts = new Map<string, Entry<(args: Json) => string>>();
  private readonly connections = new Set<Connection>();

  constructor(name: string, version: string, maxInFlight = 64) {
    this.name = name;
    this.version = version;
    this.maxInFlight = maxInFlight;
    this.method("initialize", (call) => this.initialize(call));
    this.method("server/discover", (call) => cached(call, { supportedVersions: [STATELESS], ...this.about() }));
    this.method("ping", () => ({}));
    this.method("logging/setLevel", () => ({}));
    this.method("tools/list", (call) => cached(call, { tools: listed(this.tools) }));
    this.method("tools/call", (call) => this.callTool(call));
    this.method("resources/list", (call) => cached(call, { resources: listed(this.resources) }));
    this.method("resources/templates/list", (call) => cached(call, { resourceTemplates: [] }));
    this.method("resources/read", (call) => this.readResource(call));
    this.method("prompts/list", (call) => cached(call, { prompts: listed(this.prompts) }));
    this.method("prompts/get", (call) => this.getPrompt(call));
  }

  /** A method of the protocol: the handler makes its result from a Call. */
  method(name: string, handler: Handler): void {
    this.methods.set(name, handler);
  }

  /** A tool: the handler makes a text, an object, or a whole result (with `content`) of its arguments and a Call. */
  tool(name: string, description: string, inputSchema: Json, handler: ToolHandler): void {
    this.tools.set(name, { about: { name, description, inputSchema }, handler });
  }

  resource(uri: string, name: string, mimeType: string, handler: (call: Call) => string | Promise<string>): void {
    this.resources.set(uri, { about: { uri, name, mimeType }, handler });
  }

  prompt(name: string, description: string, args: Json[], handler: (args: Json) => string): void {
    this.prompts.set(name, { about: { name, description, arguments: args }, handler });
  }

  /** Sends a notification outside of a call: to one session, or to all of them. */
  notify(sessionId: string | null, method: string, params: Json): void {
    for (const connection of this.connections) {
      connection.write("notify", { session_id: sessionId, messages: [wrapped({ method, params })] });
    }
  }

  /** Serves until the process that started it is gone. */
  run(path: string): void {
    try {
      unlinkSync(path); // of a worker that was killed
    } catch {
      // there was none
    }
    const server = createServer((socket) => {
      const connection = new Connection(socket, (from, envelope) => this.receive(from, envelope));
      this.connections.add(connection);
      socket.on("close", () => {
        this.connections.delete(connection);
        for (const call of connection.calls.values()) call.cancel();
      });
    });
    server.on("error", (error) => {
      console.error(`${this.name}: can't listen on '${path}' (${error.message}): name another path`);
      process.exit(1);
    });
    const before = process.umask(0o077);
    server.listen(path, () => process.umask(before));
    const parent = Number(process.env.LONGWIRE_PARENT_PID ?? 0);
    if (parent) {
      setInterval(() => {
        try {
          process.kill(parent, 0);
        } catch {
          process.exit(0);
        }
      }, 1000).unref();
    }
  }

  private receive(connection: Connection, envelope: Json): void {
    const events: Record<string, () => void> = {
      hello: () =>
        connection.write("hello", {
          contract: CONTRACT,
          name: this.name,
          version: this.version,
          max_in_flight: this.maxInFlight,
          affinity: "none",
        }),
      ping: () => connection.write("pong", { id: envelope.id }),
      message: () => {
        if (typeof envelope.jsonrpc?.method !== "string") throw new Error("a message without a method");
        void this.serve(connection, envelope);
      },
      response: () => connection.calls.get(envelope.id)?.answered(envelope.jsonrpc ?? {}),
      cancel: () => connection.calls.get(envelope.id)?.cancel(),
      // drain: what runs is finished anyway; session_end: nothing is kept here
    };
    if (Object.hasOwn(events, envelope.event)) events[envelope.event]();
  }

  /** Runs one call and sends its last frame. */
  private async serve(connection: Connection, envelope: Json): Promise<void> {
    const call = new Call(connection, envelope);
    connection.calls.set(envelope.id, call);
    const { event, fields } = await this.outcome(call);
    connection.calls.delete(envelope.id);
    if (call.signal.aborted) return;
    try {
      connection.write(event, { id: envelope.id, ...fields });
    } catch (error) {
      this.log(`the answer to ${envelope.jsonrpc.method} can't be written as JSON`, error);
      const said = { error: "the answer can't be written as JSON", error_class: "app_contract_error" };
      connection.write("error", { id: envelope.id, ...said });
    }
  }

  private log(what: string, error: unknown): void {
    console.error(`${this.name}: ${what}:`, error);
  }

  private async outcome(call: Call): Promise<{ event: string; fields: Json }> {
    const request = call.envelope.jsonrpc;
    const handler = this.methods.get(request.method);
    if (request.id === undefined) {
      return { event: "result", fields: { handled: true, jsonrpc: null } }; // a notification
    }
    if (handler === undefined) {
      return { event: "result", fields: { handled: false, jsonrpc: null } };
    }
    const reply: Json = { jsonrpc: "2.0", id: request.id };
    try {
      reply.result = await handler(call);
      if (!isObject(reply.result)) throw new ContractError(`${request.method} has a result that is no object`);
      if (call.state !== undefined && !isObject(call.state)) throw new ContractError("the session's state is no object");
      if (call.stateless) {
        const about = { name: this.name, version: this.version };
        reply.result = { resultType: "complete", ...reply.result };
        reply.result._meta = { "io.modelcontextprotocol/serverInfo": about };
      }
    } catch (error) {
      if (error instanceof ContractError) {
        return { event: "error", fields: { error: error.message, error_class: "app_contract_error" } };
      }
      if (error instanceof RpcError || error instanceof ToolError) {
        const code = error instanceof RpcError && Number.isInteger(error.code) ? error.code : -32603;
        reply.error = { code, message: error.message };
      } else {
        if (!call.signal.aborted) this.log(`${request.method} failed`, error);
        const said = `${request.method} failed: the worker's log says why`;
        return { event: "error", fields: { error: said, error_class: "worker_runtime_error" } };
      }
    }
    const session = call.state && { state: call.state };
    return { event: "result", fields: { handled: true, session, jsonrpc: reply } };
  }

  // ---- the protocol's methods

  private initialize(call: Call): Json {
    const asked = call.params.protocolVersion;
    const protocolVersion = VERSIONS.includes(asked) ? asked : VERSIONS[0];
    return { protocolVersion, serverInfo: { name: this.name, version: this.version }, ...this.about() };
  }

  private about(): Json {
    return { capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} } };
  }

  private async callTool(call: Call): Promise<Json> {
    const { about, handler } = found(this.tools, "tool", call.params.name);
    const args = call.params.arguments ?? {};
    let result: unknown;
    try {
      for (const needed of about.inputSchema.required ?? []) {
        if (args[needed] === undefined) throw new ToolError(`tool '${about.name}' needs the argument '${needed}'`);
      }
      result = await handler(args, call);
    } catch (error) {
      if (error instanceof InputRequired) {
        return { resultType: "input_required", inputRequests: error.requests, requestState: error.state };
      }
      if (error instanceof RpcError) throw error;
      if (error instanceof ToolError) return { content: [text(error.message)], isError: true };
      if (!call.signal.aborted) this.log(`tool '${about.name}' failed`, error);
      return { content: [text(`tool '${about.name}' failed: the worker's log says why`)], isError: true };
    }
    if (typeof result === "string") return { content: [text(result)], isError: false };
    if (isObject(result) && Array.isArray(result.content)) return result;
    return structured(about.name, result);
  }

  private async readResource(call: Call): Promise<Json> {
    const { uri } = call.params;
    const { about, handler } = found(this.resources, "resource", uri, call.stateless ? -32602 : -32002);
    const words = isText(await handler(call), `resource '${uri}'`);
    return cached(call, { contents: [{ uri, mimeType: about.mimeType, text: words }] });
  }

  private getPrompt(call: Call): Json {
    const { about, handler } = found(this.prompts, "prompt", call.params.name);
    const content = text(isText(handler(call.params.arguments ?? {}), `prompt '${about.name}'`));
    return { description: about.description, messages: [{ role: "user", content }] };
  }
}

function found<T>(entries: Map<string, Entry<T>>, kind: string, name: string, code = -32602): Entry<T> {
  const entry = entries.get(name);
  if (entry === undefined) throw new RpcError(code, `there is no ${kind} '${name}'`);
  return entry;
}

function listed(entries: Map<string, Entry<unknown>>): Json[] {
  return [...entries.values()].map((entry) => entry.about);
}

/** A result that clients of version 2026-07-28 may keep for a minute; older versions have no word for it. */
function cached(call: Call, result: Json): Json {
  return call.stateless ? { ...result, ttlMs: 60_000, cacheScope: "private" } : result;
}

/** An object as a tool's result: for programs, and as text for clients that read nothing else. */
function structured(tool: string, value: unknown): Json {
  let words: string | undefined;
  try {
    words = JSON.stringify(value);
  } catch {
    // in circles, or a BigInt
  }
  if (!words?.startsWith("{")) {
    throw new ContractError(`tool '${tool}' returned what is neither text nor an object that JSON can hold`);
  }
  return { content: [text(words)], structuredContent: JSON.parse(words), isError: false };
}

/** Whether a value is an object for JSON too: a Date, say, is a text there. */
function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !("toJSON" in value);
}

function isText(value: unknown, what: string): string {
  if (typeof value !== "string") throw new ContractError(`${what} returned what is no text`);
  return value;
}

function text(words: string): Json {
  return { type: "text", text: words };
}

function wrapped(message: Json): Json {
  return { type: "jsonrpc", data: { jsonrpc: "2.0", ...message } };
}
