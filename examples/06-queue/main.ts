import { connect, wait } from "aegis/client";

const client = await connect(process.cwd(), { start: true });

const tasks = await Promise.all(
  ["Ada", "Grace", "Barbara", "Frances"].map(async (name) => {
    // An idempotency key: the same key twice adds one task, so this program is safe to run again after a crash.
    const body = { payload: `greet ${name}`, key: `greet-${name}` };
    return (await client.call("enqueueTask", { path: { queue: "greetings" }, body })).task;
  }),
);
for (const { id } of tasks) {
  const { status, result } = await wait.task(client, id);
  console.log(`${status}: ${result}`);
}
const { queue } = await client.call("getQueue", { path: { queue: "greetings" } });
console.log(`at most ${queue.settings?.max_parallel} at once`);
