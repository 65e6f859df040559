import { connect, wait } from "aegis/client";

const client = await connect(process.cwd(), { start: true });
const { session } = await client.call("createSession", { body: {} });
const { receipt } = await client.call("sendMessage", {
  path: { session: session.id },
  body: { text: "list files" },
});
const outcome = await wait.message(client, receipt.message, session.id);
console.log(outcome.status === "answered" ? outcome.turn?.text : outcome.status);
