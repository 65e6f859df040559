import { connect, followEvents, initialState, reduce } from "aegis/client";

const client = await connect(process.cwd(), { start: true });
let state = initialState((await client.call("status")).last_seq);
await client.call("createSession", { body: { agent: "lead", prompt: "plan the release" } });

// A client's state is a fold over the events, here until both subagents have ended.
for await (const item of followEvents(client, { after: state.last_seq })) {
  if (item.kind === "event") state = reduce(state, item.event);
  const known = Object.values(state.subagents);
  if (known.length === 2 && known.every(({ status }) => status !== "running")) break;
}
for (const { label, depth, status, result } of Object.values(state.subagents).sort((a, b) =>
  a.label < b.label ? -1 : 1,
))
  console.log(`${"  ".repeat(depth)}${label} (${status}): ${result?.split("\n").at(-1)}`);
