import { connect, followEvents } from "aegis/client";

const client = await connect(process.cwd(), { start: true });
const { last_seq } = await client.call("status");
const { session } = await client.call("createSession", { body: { prompt: "tell a slow story" } });

let streamed = 0;
for await (const item of followEvents(client, { after: last_seq, session: session.id, live: true })) {
  if (item.kind === "delta") {
    streamed += item.delta.text.length;
    continue;
  }
  console.log(item.event.type);
  if (item.event.type === "turn.ended") break;
}
console.log(streamed > 0 ? "text arrived while it was written" : "no text was streamed");
