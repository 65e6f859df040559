/** Transcripts of sessions and reports of runs, as MCP resources. */
import type { Event } from "@aegis/contract/event.ts";
import type { McpContext } from "./context.ts";

const markdown = "text/markdown";
const historyPage = 1_000;
/** Newest first; a client shows the list to a person. */
const listedRuns = 50;

export const templates = [
  {
    uriTemplate: "aegis://sessions/{session}/transcript",
    name: "transcript",
    description: "The conversation of a session, by handle or id",
    mimeType: markdown,
  },
  { uriTemplate: "aegis://runs/{run}", name: "run", description: "A workflow run and its steps", mimeType: markdown },
];

export async function listResources({ client }: McpContext) {
  const [{ sessions }, { runs }] = await Promise.all([
    client.call("listSessions"),
    client.call("listRuns", { query: { limit: listedRuns } }),
  ]);
  return [
    ...sessions.map(({ id, handle, title, agent }) => ({
      uri: `aegis://sessions/${id}/transcript`,
      name: title === "" ? handle : `${handle}: ${title}`,
      description: `The conversation of ${handle}, agent ${agent}`,
      mimeType: markdown,
    })),
    ...runs.map(({ id, workflow, status }) => ({
      uri: `aegis://runs/${id}`,
      name: `${workflow} ${id.slice(-6)}`,
      description: `A run of ${workflow}: ${status}`,
      mimeType: markdown,
    })),
  ];
}

/** Returns null for an address that is not one of Aegis. */
export async function readResource(context: McpContext, uri: string) {
  const session = /^aegis:\/\/sessions\/([^/]+)\/transcript$/.exec(uri)?.[1];
  const run = /^aegis:\/\/runs\/([^/]+)$/.exec(uri)?.[1];
  if (session !== undefined) return page(uri, await transcript(context, decodeURIComponent(session)));
  if (run !== undefined) return page(uri, await runReport(context, decodeURIComponent(run)));
  return null;
}

const page = (uri: string, text: string) => ({ contents: [{ uri, mimeType: markdown, text }] });

async function transcript({ client }: McpContext, session: string): Promise<string> {
  const parts: string[] = [];
  for (let before: number | undefined; ; ) {
    const query = { limit: historyPage, ...(before === undefined ? {} : { before }) };
    const { events, more } = await client.call("history", { path: { session }, query });
    parts.unshift(...events.flatMap(paragraph));
    before = events[0]?.seq;
    if (!more || before === undefined) return parts.join("\n\n");
  }
}

function paragraph(event: Event): string[] {
  switch (event.type) {
    case "message.admitted": {
      const { sender, body } = event.data.message;
      const name = "name" in sender ? `:${sender.name}` : "handle" in sender ? `:${sender.handle}` : "";
      return [`**${sender.kind}${name}**\n\n${body}`];
    }
    case "turn.text":
      return [event.data.text];
    case "turn.tool_call":
      return [`\`${event.data.name}\` ${event.data.title}`];
    case "turn.ended":
      return event.data.reason === "completed" ? [] : [`*The turn ended as ${event.data.reason}.*`];
    default:
      return [];
  }
}

async function runReport({ client }: McpContext, run: string): Promise<string> {
  const [{ run: view }, { steps }] = await Promise.all([
    client.call("getRun", { path: { run } }),
    client.call("listSteps", { path: { run } }),
  ]);
  const lines = steps.map(({ label, method, status }) => `- ${method} ${label}: ${status}`);
  const result = view.result === null ? "" : `\n\nResult:\n\n${JSON.stringify(view.result, null, 2)}`;
  const error = view.error === null ? "" : `\n\nError: ${view.error.message}`;
  return `# ${view.workflow}, ${view.id}\n\nStatus: ${view.status}\n\n${lines.join("\n")}${result}${error}`;
}
