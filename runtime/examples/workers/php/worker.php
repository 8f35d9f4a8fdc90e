<?php
/**
 * An example worker: tools, a resource and a prompt behind Longwire.
 *
 *     longwire serve --http 8080 --worker-command 'php examples/workers/php/worker.php --socket {socket}'
 *     longwire worker-check /tmp/worker.sock      # while it runs with --socket /tmp/worker.sock
 */

declare(strict_types=1);

require __DIR__ . '/longwire_worker.php';

use Longwire\Call;
use Longwire\Worker;

if (ini_get('memory_limit') === '-1') { // as it is on most command lines: one call could take all of the machine's
    ini_set('memory_limit', '512M');
}

$worker = new Worker('example-php', '1.0');

$worker->tool(
    'echo',
    'Answers with its argument.',
    ['type' => 'object', 'properties' => ['text' => ['type' => 'string']], 'required' => ['text']],
    fn (object $arguments): string => (string) $arguments->text,
);

$worker->tool(
    'count',
    'Counts up to a number and reports progress. Ends at once when it is cancelled.',
    [
        'type' => 'object',
        'properties' => [
            'to' => ['type' => 'integer', 'minimum' => 1],
            'pause' => ['type' => 'number', 'description' => 'Seconds between two numbers, 0.01 if left out.'],
        ],
        'required' => ['to'],
    ],
    function (object $arguments, Call $call): string {
        for ($number = 1; $number <= $arguments->to; $number++) {
            $call->progress($number, $arguments->to, "at $number");
            $call->sleep($arguments->pause ?? 0.01); // other calls run meanwhile
        }
        return "counted to $arguments->to";
    },
);

$worker->tool(
    'ask',
    'Asks for a name and a colour, and says what the answers were.',
    ['type' => 'object', 'properties' => new stdClass()],
    function (object $arguments, Call $call): string {
        $form = fn (string $field): array => [
            'type' => 'object', 'properties' => [$field => ['type' => 'string']], 'required' => [$field],
        ];
        $name = $call->elicit('name', 'Your name?', $form('name'));
        if ($name->action !== 'accept') {
            return 'Never mind.';
        }
        $colour = $call->elicit('colour', "Which colour do you like, {$name->content->name}?", $form('colour'));
        return $colour->action === 'accept'
            ? "{$name->content->name} likes {$colour->content->colour}."
            : "{$name->content->name} likes none.";
    },
);

$worker->tool(
    'visits',
    'Says how often it was called in this session. The runtime keeps the number.',
    ['type' => 'object', 'properties' => new stdClass()],
    function (object $arguments, Call $call): string {
        if ($call->sessionId() === null) {
            return 'There is no session to count in.';
        }
        $state = $call->state();
        $state->visits = ($state->visits ?? 0) + 1;
        $call->setState($state);
        return "visit $state->visits";
    },
);

$worker->tool(
    'announce',
    'Sends a line to all sessions.',
    ['type' => 'object', 'properties' => ['text' => ['type' => 'string']], 'required' => ['text']],
    function (object $arguments) use ($worker): string {
        $worker->notify(null, 'notifications/message', ['level' => 'info', 'data' => $arguments->text]);
        return 'announced';
    },
);

$worker->resource('example://language', 'language', 'text/plain', fn (): string => 'PHP ' . PHP_VERSION);

$worker->prompt(
    'greet',
    'Asks for a greeting.',
    [['name' => 'name', 'description' => 'Whom to greet.', 'required' => true]],
    fn (object $arguments): string => 'Greet ' . ($arguments->name ?? 'everybody') . ' in one sentence.',
);

$options = getopt('', ['socket:']);
$worker->run($options['socket'] ?? getenv('LONGWIRE_WORKER_SOCKET') ?: exit("usage: worker.php --socket PATH\n"));
