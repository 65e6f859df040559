import { connect, wait } from "aegis/client";

const client = await connect(process.cwd(), { start: true });
const schedule = { schedule: "nightly" };

const { times } = await client.call("nextFirings", { path: schedule, query: { count: 1 } });
console.log(`fires next at ${new Date(times[0] ?? 0).toISOString().slice(11, 16)}`);

const { firing } = await client.call("runSchedule", { path: schedule, body: {} });
const ended = await wait.firing(client, firing.id);
console.log(`fired by hand: ${ended.status}`);
