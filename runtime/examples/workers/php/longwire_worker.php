<?php
/**
 * A worker of Longwire in plain PHP: frames over a Unix socket, many calls at once.
 *
 * Every call runs in a fiber, so a handler reads like ordinary code. While it sleeps or waits for the client's
 * answer, the other calls go on. What a worker has to do is in docs/worker-contract.md. Needs PHP 8.1, no packages.
 */

declare(strict_types=1);

namespace Longwire;

const CONTRACT = 1;
const MAX_FRAME = 16 << 20; // bytes
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']; // with a handshake, newest first
const STATELESS = '2026-07-28'; // without one

/** The call is over for its client: thrown where the handler waits, so that it ends. */
final class Cancelled extends \Exception {}

/** A failure whose words are for the model to read. The words of other exceptions go to the log alone. */
final class ToolError extends \Exception {}

/** A handler returned what can't be sent. */
final class ContractError extends \Exception {}

/** An answer of JSON-RPC that is an error. */
final class RpcError extends \Exception {}

/** The client is asked by the call's answer and calls again with what it said (version 2026-07-28). */
final class InputRequired extends \Exception
{
    public function __construct(public array $requests, public string $state)
    {
        parent::__construct('input required');
    }
}

/** One request of a client, and what its handler may do while it runs. */
final class Call
{
    public bool $cancelled = false;
    public bool $stateChanged = false;
    public ?\Fiber $fiber = null;
    public array $questions = []; // ids of requests to the client that have no answer yet

    public function __construct(private Worker $worker, private Connection $connection, public object $envelope)
    {
    }

    /** The id of the session; null if the client has none. */
    public function sessionId(): ?string
    {
        return $this->envelope->session_id ?? null;
    }

    public function params(): object
    {
        return $this->envelope->jsonrpc->params ?? new \stdClass();
    }

    public function stateless(): bool
    {
        return $this->envelope->protocol_version >= STATELESS;
    }

    /** The values that are kept with the session, by the runtime: they survive this process. */
    public function state(): object
    {
        return $this->envelope->session->state ?? new \stdClass();
    }

    public function setState(object $state): void
    {
        $this->envelope->session->state = $state;
        $this->stateChanged = true;
    }

    /** Tells the client how far the call is, if it wants to know. */
    public function progress(float $done, ?float $total = null, string $message = ''): void
    {
        $token = $this->params()->_meta->progressToken ?? null;
        if ($token !== null) {
            $told = ['progressToken' => $token, 'progress' => $done, 'total' => $total, 'message' => $message];
            $this->send('notifications/progress', array_filter($told, fn ($value) => $value !== null));
        }
    }

    /** Lets other calls run for a while. */
    public function sleep(float $seconds): void
    {
        $this->worker->wake($this, now() + $seconds);
        $this->wait();
    }

    /**
     * Asks the client's user to fill in a form; returns {action, content}.
     *
     * In a session the question goes out while the call runs. Without one the call ends here, and the client calls
     * again with the answer: the handler runs from its beginning, and each question that has an answer returns it.
     */
    public function elicit(string $key, string $message, array $schema): object
    {
        if (!isset($this->envelope->client->capabilities->elicitation)) {
            throw new ToolError('this client has nobody to ask');
        }
        $question = ['message' => $message, 'requestedSchema' => $schema];
        if ($this->stateless()) {
            $known = json_decode($this->params()->requestState ?? '{}');
            foreach ($this->params()->inputResponses ?? [] as $name => $answer) {
                $known->$name = $answer;
            }
            if (!isset($known->$key)) {
                $form = ['method' => 'elicitation/create', 'params' => ['mode' => 'form'] + $question];
                throw new InputRequired([$key => $form], encode($known));
            }
            return $known->$key;
        }
        $answer = $this->request('elicitation/create', $question);
        if (isset($answer->error)) {
            throw new ToolError('the client did not answer: ' . $answer->error->message);
        }
        return $answer->result;
    }

    /** Sends a request to the client and waits for its answer. */
    public function request(string $method, array $params): object
    {
        $id = 'q' . (count($this->questions) + 1);
        $this->questions[$id] = true;
        $this->send($method, $params, $id);
        return $this->wait();
    }

    /** Sends a notification, or a request if it has an id, before the answer. */
    public function send(string $method, array|object $params, ?string $id = null): void
    {
        $message = ['jsonrpc' => '2.0', 'method' => $method, 'params' => $params];
        if ($id !== null) {
            $message['id'] = $id;
        }
        $this->connection->write('messages', ['id' => $this->envelope->id, 'messages' => [wrapped($message)]]);
    }

    /** Lets other calls run until something comes for this one. */
    private function wait(): mixed
    {
        $found = \Fiber::suspend();
        if ($this->cancelled) {
            throw new Cancelled();
        }
        return $found;
    }
}

/** One connection of a runtime: frames in and out, never blocking. */
final class Connection
{
    private string $in = '';
    public string $out = '';
    public array $calls = [];

    public function __construct(public $stream)
    {
        stream_set_blocking($stream, false);
        stream_set_read_buffer($stream, 0);
    }

    /** Queues a frame; throws JsonException if JSON can't hold it. */
    public function write(string $event, array $fields): void
    {
        $body = encode(['mode' => 'mcp', 'event' => $event] + $fields);
        if (strlen($body) > MAX_FRAME) {
            if ($event !== 'result') {
                return; // a message that is too large for the runtime
            }
            $body = encode(['mode' => 'mcp', 'event' => 'error', 'id' => $fields['id'],
                'error' => 'the answer is larger than 16 MiB', 'error_class' => 'app_contract_error']);
        }
        $this->out .= pack('N', strlen($body)) . $body;
    }

    /** Sends what the socket takes; false: the runtime is gone. */
    public function flush(): bool
    {
        $sent = @fwrite($this->stream, $this->out);
        if ($sent === false) {
            return false;
        }
        $this->out = substr($this->out, $sent);
        return true;
    }

    /** The envelopes that have arrived; null: the runtime is gone, or what it sends is not the contract's. */
    public function read(): ?array
    {
        $data = @fread($this->stream, 1 << 18);
        if ($data === false || ($data === '' && feof($this->stream))) {
            return null;
        }
        $this->in .= $data;
        $envelopes = [];
        while (strlen($this->in) >= 4) {
            $length = unpack('N', $this->in)[1];
            if ($length < 1 || $length > MAX_FRAME) {
                return null;
            }
            if (strlen($this->in) < 4 + $length) {
                break;
            }
            $envelope = json_decode(substr($this->in, 4, $length));
            if (!is_object($envelope)) {
                return null;
            }
            $envelopes[] = $envelope;
            $this->in = substr($this->in, 4 + $length);
        }
        return $envelopes;
    }
}

/** The worker: what it offers, and the loop that serves it. */
final class Worker
{
    private array $methods = []; // name => handler
    private array $tools = [];
    private array $resources = [];
    private array $prompts = [];
    private array $connections = [];
    private array $sleeping = []; // [moment, call]

    public function __construct(private string $name, private string $version, private int $maxInFlight = 64)
    {
        $this->method('initialize', $this->initialize(...));
        $this->method('server/discover', fn (Call $call) => $this->cached($call, ['supportedVersions' => [STATELESS]] + $this->about()));
        $this->method('ping', fn () => []);
        $this->method('logging/setLevel', fn () => []);
        $this->method('tools/list', fn (Call $call) => $this->cached($call, ['tools' => $this->listed($this->tools)]));
        $this->method('tools/call', $this->callTool(...));
        $this->method('resources/list', fn (Call $call) => $this->cached($call, ['resources' => $this->listed($this->resources)]));
        $this->method('resources/templates/list', fn (Call $call) => $this->cached($call, ['resourceTemplates' => []]));
        $this->method('resources/read', $this->readResource(...));
        $this->method('prompts/list', fn (Call $call) => $this->cached($call, ['prompts' => $this->listed($this->prompts)]));
        $this->method('prompts/get', $this->getPrompt(...));
    }

    /** A method of the protocol: the handler makes its result from a Call. */
    public function method(string $name, callable $handler): void
    {
        $this->methods[$name] = $handler;
    }

    /** A tool: the handler makes a text, an object, or a whole result (with `content`) of its arguments and a Call. */
    public function tool(string $name, string $description, array $schema, callable $handler): void
    {
        $this->tools[$name] = [['name' => $name, 'description' => $description, 'inputSchema' => $schema], $handler];
    }

    public function resource(string $uri, string $name, string $mimeType, callable $handler): void
    {
        $this->resources[$uri] = [['uri' => $uri, 'name' => $name, 'mimeType' => $mimeType], $handler];
    }

    public function prompt(string $name, string $description, array $arguments, callable $handler): void
    {
        $about = ['name' => $name, 'description' => $description, 'arguments' => $arguments];
        $this->prompts[$name] = [$about, $handler];
    }

    /** Sends a notification outside of a call: to one session, or to all of them. */
    public function notify(?string $sessionId, string $method, array $params): void
    {
        $message = ['jsonrpc' => '2.0', 'method' => $method, 'params' => $params];
        foreach ($this->connections as $connection) {
            $connection->write('notify', ['session_id' => $sessionId, 'messages' => [wrapped($message)]]);
        }
    }

    public function wake(Call $call, float $moment): void
    {
        $this->sleeping[] = [$moment, $call];
    }

    /** Serves until the process that started it is gone. */
    public function run(string $path): void
    {
        @unlink($path); // of a worker that was killed
        $before = umask(0077);
        $listener = stream_socket_server("unix://$path", $code, $message);
        umask($before);
        if ($listener === false) {
            fwrite(STDERR, "$this->name: can't listen on '$path' ($message): name another path\n");
            exit(1);
        }
        $parent = (int) getenv('LONGWIRE_PARENT_PID');
        while (!$parent || @posix_kill($parent, 0)) {
            $this->turn($listener);
        }
        @unlink($path);
    }

    private function turn($listener): void
    {
        $read = [$listener];
        $write = [];
        foreach ($this->connections as $key => $connection) {
            if (strlen($connection->out) < 4 * MAX_FRAME) { // a runtime that doesn't read gets no more work done
                $read[$key + 1] = $connection->stream;
            }
            if ($connection->out !== '') {
                $write[$key + 1] = $connection->stream;
            }
        }
        $except = null;
        $until = min([now() + 1.0, ...array_column($this->sleeping, 0)]);
        $wait = (int) (max(0.0, $until - now()) * 1e6);
        if (!@stream_select($read, $write, $except, 0, $wait)) {
            $read = $write = []; // nothing came, or a signal
        }
        foreach (array_keys($write) as $key) {
            $this->connections[$key - 1]->flush() || $this->drop($key - 1);
        }
        foreach ($read as $key => $stream) {
            if ($stream === $listener) {
                if ($accepted = @stream_socket_accept($listener, 0)) {
                    $this->connections[] = new Connection($accepted);
                }
            } elseif (isset($this->connections[$key - 1])) {
                $this->receive($key - 1);
            }
        }
        $now = now();
        foreach ($this->sleeping as $key => [$moment, $call]) {
            if ($moment <= $now) {
                unset($this->sleeping[$key]);
                $this->resume($call);
            }
        }
    }

    private function receive(int $key): void
    {
        $connection = $this->connections[$key];
        $envelopes = $connection->read();
        if ($envelopes === null) {
            $this->drop($key);
            return;
        }
        foreach ($envelopes as $envelope) {
            if (!complete($envelope)) {
                $this->drop($key); // what came is not the contract's
                return;
            }
            match ($envelope->event ?? '') {
                'hello' => $connection->write('hello', ['contract' => CONTRACT, 'name' => $this->name,
                    'version' => $this->version, 'max_in_flight' => $this->maxInFlight, 'affinity' => 'none']),
                'ping' => $connection->write('pong', ['id' => $envelope->id]),
                'message' => $this->start($connection, $envelope),
                'response' => $this->answered($connection, $envelope),
                'cancel' => $this->cancel($connection->calls[$envelope->id] ?? null),
                default => null, // drain: what runs is finished anyway; session_end: nothing is kept here
            };
        }
    }

    private function start(Connection $connection, object $envelope): void
    {
        $call = new Call($this, $connection, $envelope);
        $connection->calls[$envelope->id] = $call;
        $call->fiber = new \Fiber(function () use ($call, $connection, $envelope): void {
            [$event, $fields] = $this->outcome($call);
            unset($connection->calls[$envelope->id]);
            if ($call->cancelled) {
                return;
            }
            try {
                $connection->write($event, ['id' => $envelope->id] + $fields);
            } catch (\JsonException $error) {
                $this->log("the answer to {$envelope->jsonrpc->method} can't be written as JSON", $error);
                $connection->write('error', ['id' => $envelope->id, 'error' => "the answer can't be written as JSON",
                    'error_class' => 'app_contract_error']);
            }
        });
        $call->fiber->start();
    }

    private function log(string $what, \Throwable $error): void
    {
        fwrite(STDERR, "$this->name: $what: $error\n");
    }

    /** The last frame of a call: its event and fields. */
    private function outcome(Call $call): array
    {
        $request = $call->envelope->jsonrpc;
        $handler = $this->methods[$request->method] ?? null;
        if (!isset($request->id)) {
            return ['result', ['handled' => true, 'jsonrpc' => null]]; // a notification
        }
        if ($handler === null) {
            return ['result', ['handled' => false, 'jsonrpc' => null]];
        }
        $reply = ['jsonrpc' => '2.0', 'id' => $request->id];
        try {
            $result = $handler($call);
            if ($result instanceof \stdClass) {
                $result = (array) $result;
            }
            if (!is_array($result) || ($result !== [] && array_is_list($result))) {
                throw new ContractError("$request->method has a result that is no object");
            }
            if ($call->stateless()) {
                $result += ['resultType' => 'complete'];
                $about = ['name' => $this->name, 'version' => $this->version];
                $result['_meta'] = ['io.modelcontextprotocol/serverInfo' => $about];
            }
            $reply['result'] = (object) $result;
        } catch (RpcError | ToolError $error) {
            $reply['error'] = ['code' => $error->getCode() ?: -32603, 'message' => $error->getMessage()];
        } catch (ContractError $error) {
            return ['error', ['error' => $error->getMessage(), 'error_class' => 'app_contract_error']];
        } catch (Cancelled) {
            return ['error', ['error' => 'cancelled', 'error_class' => 'worker_runtime_error']]; // which nobody reads
        } catch (\Throwable $error) {
            $this->log("$request->method failed", $error);
            $said = "$request->method failed: the worker's log says why";
            return ['error', ['error' => $said, 'error_class' => 'worker_runtime_error']];
        }
        $fields = ['handled' => true, 'jsonrpc' => $reply];
        if ($call->stateChanged) {
            $fields['session'] = ['state' => $call->state()];
        }
        return ['result', $fields];
    }

    private function answered(Connection $connection, object $envelope): void
    {
        $call = $connection->calls[$envelope->id] ?? null;
        if ($call !== null && ($call->questions[$envelope->jsonrpc->id] ?? false)) {
            $call->questions[$envelope->jsonrpc->id] = false;
            $this->resume($call, $envelope->jsonrpc);
        }
    }

    private function cancel(?Call $call): void
    {
        if ($call !== null) {
            $call->cancelled = true;
            $this->sleeping = array_filter($this->sleeping, fn ($entry) => $entry[1] !== $call);
            $this->resume($call); // throws Cancelled where the handler waits
        }
    }

    private function resume(Call $call, mixed $value = null): void
    {
        if ($call->fiber->isSuspended()) {
            $call->fiber->resume($value);
        }
    }

    /** Ends a connection and the calls that came over it. */
    private function drop(int $key): void
    {
        $connection = $this->connections[$key];
        unset($this->connections[$key]);
        foreach ($connection->calls as $call) {
            $this->cancel($call);
        }
        @fclose($connection->stream);
    }

    // ---- the protocol's methods

    private function initialize(Call $call): array
    {
        $asked = $call->params()->protocolVersion ?? '';
        $version = in_array($asked, VERSIONS, true) ? $asked : VERSIONS[0];
        $about = ['name' => $this->name, 'version' => $this->version];
        return ['protocolVersion' => $version, 'serverInfo' => $about] + $this->about();
    }

    private function about(): array
    {
        $none = new \stdClass();
        return ['capabilities' => ['tools' => $none, 'resources' => $none, 'prompts' => $none, 'logging' => $none]];
    }

    private function listed(array $entries): array
    {
        return array_values(array_column($entries, 0));
    }

    /** A result that clients of version 2026-07-28 may keep for a minute; older versions have no word for it. */
    private function cached(Call $call, array $result): array
    {
        return $result + ($call->stateless() ? ['ttlMs' => 60000, 'cacheScope' => 'private'] : []);
    }

    private function callTool(Call $call): array
    {
        $name = $call->params()->name ?? '';
        [$about, $handler] = $this->tools[$name] ?? throw new RpcError("there is no tool '$name'", -32602);
        $arguments = $call->params()->arguments ?? new \stdClass();
        try {
            foreach ($about['inputSchema']['required'] ?? [] as $needed) {
                if (!isset($arguments->$needed)) {
                    throw new ToolError("tool '$name' needs the argument '$needed'");
                }
            }
            $result = $handler($arguments, $call);
        } catch (InputRequired $asked) {
            return ['resultType' => 'input_required', 'inputRequests' => $asked->requests,
                'requestState' => $asked->state];
        } catch (Cancelled | RpcError $error) {
            throw $error;
        } catch (ToolError $error) {
            return ['content' => [text($error->getMessage())], 'isError' => true];
        } catch (\Throwable $error) {
            $this->log("tool '$name' failed", $error);
            return ['content' => [text("tool '$name' failed: the worker's log says why")], 'isError' => true];
        }
        if (is_string($result)) {
            return ['content' => [text($result)], 'isError' => false];
        }
        if (is_array($result) && is_array($result['content'] ?? null) && array_is_list($result['content'])) {
            return $result;
        }
        return structured($name, $result);
    }

    private function readResource(Call $call): array
    {
        $uri = $call->params()->uri ?? '';
        [$about, $handler] = $this->resources[$uri]
            ?? throw new RpcError("there is no resource '$uri'", $call->stateless() ? -32602 : -32002);
        $text = isText($handler($call), "resource '$uri'");
        $content = ['uri' => $uri, 'mimeType' => $about['mimeType'], 'text' => $text];
        return $this->cached($call, ['contents' => [$content]]);
    }

    private function getPrompt(Call $call): array
    {
        $name = $call->params()->name ?? '';
        [$about, $handler] = $this->prompts[$name] ?? throw new RpcError("there is no prompt '$name'", -32602);
        $text = isText($handler($call->params()->arguments ?? new \stdClass()), "prompt '$name'");
        $message = ['role' => 'user', 'content' => text($text)];
        return ['description' => $about['description'], 'messages' => [$message]];
    }
}

/** Whether an envelope has what is used of it. */
function complete(object $envelope): bool
{
    return match ($envelope->event ?? '') {
        'message' => isset($envelope->id, $envelope->protocol_version) && is_string($envelope->jsonrpc->method ?? null),
        'response' => isset($envelope->id, $envelope->jsonrpc->id),
        'ping', 'cancel' => isset($envelope->id),
        default => true,
    };
}

/** An array with keys, or an object, as a tool's result: for programs, and as text for clients that read nothing else. */
function structured(string $tool, mixed $value): array
{
    try {
        $words = encode($value === [] ? new \stdClass() : $value);
    } catch (\JsonException) {
        $words = ''; // in circles, or a number that is none
    }
    if (!str_starts_with($words, '{')) {
        throw new ContractError("tool '$tool' returned what is neither text nor an object that JSON can hold");
    }
    return ['content' => [text($words)], 'structuredContent' => json_decode($words), 'isError' => false];
}

function text(string $words): array
{
    return ['type' => 'text', 'text' => $words];
}

function isText(mixed $value, string $what): string
{
    return is_string($value) ? $value : throw new ContractError("$what returned what is no text");
}

/** Seconds on a clock that nobody sets. */
function now(): float
{
    return hrtime(true) / 1e9;
}

function wrapped(array $message): array
{
    return ['type' => 'jsonrpc', 'data' => $message];
}

function encode(mixed $value): string
{
    $flags = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION;
    return json_encode($value, $flags | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
}
