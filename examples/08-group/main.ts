import { connect } from "aegis/client";

const client = await connect(process.cwd(), { start: true });
const group = { group: "estimators" };

await client.call("spawnGroup", { path: group, body: { agents: ["optimist", "pessimist", "optimist"] } });
await client.call("broadcastGroup", {
  path: group,
  body: { objective: "How many days does the move take?", output_format: "one number" },
});
const { combined, by_member } = await client.call("waitGroup", { path: group, body: { reducer: "average" } });
console.log(`${Object.keys(by_member).length} replies, ${Number(combined).toFixed(1)} days on average`);
await client.call("dissolveGroup", { path: group });
