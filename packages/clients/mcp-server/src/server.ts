/** The MCP server of one client: tools, resources and prompts over the daemon's API. Serves both eras of MCP. */

import { isAegisError } from "@aegis/contract/errors.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type Form, jsonSchemaOf, type McpContext, type McpTool } from "./context.ts";
import { listResources, readResource, templates } from "./resources.ts";
import { tools } from "./tools.ts";

const instructions =
  "Aegis runs a team of AI agents in the user's project. aegis_team lists who is there. Give work with aegis_start, " +
  "aegis_enqueue or aegis_run_workflow. A call returns after at most 45 seconds; if the work is not done, call " +
  "aegis_wait with the id. Agents may ask a person: see aegis_asks.";

export function createMcpServer(context: McpContext): Server {
  const { version, refused } = context;
  const capabilities = { tools: {}, resources: {}, prompts: {} };
  const server = new Server({ name: "aegis", version }, { capabilities, instructions: refused ?? instructions });
  const offered = refused === null ? tools : [];

  server.setRequestHandler("tools/list", async () => ({
    tools: offered.map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: { type: "object" as const, ...jsonSchemaOf(tool) },
      annotations: { readOnlyHint: tool.readOnly },
    })),
  }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
    if (refused !== null) return failed(refused);
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) {
      const names = tools.map(({ name }) => name);
      return failed(`there is no tool "${params.name}"${didYouMean(params.name, names)}`);
    }
    return callTool(tool, params.arguments ?? {}, mcpReq, showsForms(server, mcpReq), context);
  });
  server.setRequestHandler("resources/list", async () => ({
    resources: refused === null ? await told(context, () => listResources(context)) : [],
  }));
  server.setRequestHandler("resources/templates/list", async () => ({ resourceTemplates: templates }));
  server.setRequestHandler("resources/read", async ({ params }) => {
    const found = refused === null ? await told(context, () => readResource(context, params.uri)) : null;
    if (found !== null) return found;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, refused ?? `there is no resource ${params.uri}`);
  });
  server.setRequestHandler("prompts/list", async () => ({
    prompts: refused === null ? await told(context, () => prompts(context)) : [],
  }));
  server.setRequestHandler("prompts/get", async ({ params }) => {
    if (refused !== null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, refused);
    const body = { arguments: params.arguments?.arguments ?? "" };
    const path = { command: params.name };
    const outcome = await told(context, () => context.client.call("runCommand", { path, body }));
    const text = outcome.prompt ?? outcome.text ?? "";
    return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
  });
  return server;
}

/** The slash commands of the project. Everything after the name is one argument. */
async function prompts({ client }: McpContext) {
  const { commands } = await client.call("listCommands");
  return commands
    .filter(({ status }) => status === "ready")
    .map(({ name, description, argument_hint }) => ({
      name,
      description,
      arguments: [
        { name: "arguments", description: argument_hint ?? "the text after the command's name", required: false },
      ],
    }));
}

async function callTool(
  tool: McpTool,
  given: unknown,
  mcpReq: ServerContext["mcpReq"],
  forms: boolean,
  context: McpContext,
): Promise<CallToolResult | InputRequiredResult> {
  const input = tool.input.strict().safeParse(given);
  if (!input.success) {
    const words = { known: Object.keys(tool.input.shape), noun: "argument" };
    return failed(fieldProblems(input.error.issues, words).map(problemText).join("; "));
  }
  const stopProgress = sendProgress(mcpReq);
  try {
    await context.ready();
    const answers = mcpReq.inputResponses ?? {};
    const output = await tool.run(input.data, { signal: mcpReq.signal, showsForms: forms, answers }, context);
    if ("form" in output) return formRequest(output.form);
    return { content: [{ type: "text", text: JSON.stringify(output.value) }] };
  } catch (error) {
    if (!isAegisError(error)) throw error;
    return failed(error.hint === undefined ? error.message : `${error.message} (${error.hint})`);
  } finally {
    stopProgress();
  }
}

function formRequest({ key, message, choices }: Form): InputRequiredResult {
  const answer = { type: "string" as const, title: "Answer", ...(choices.length === 0 ? {} : { enum: [...choices] }) };
  const requestedSchema = { type: "object" as const, properties: { answer }, required: ["answer"] };
  return inputRequired({ inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema }) } });
}

/** Clients of 2026 say it with each request, clients of 2025 when they connect. */
function showsForms(server: Server, mcpReq: ServerContext["mcpReq"]): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const said = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return typeof said === "object" && said !== null && "elicitation" in said && said.elicitation !== undefined;
}

const progressEveryMs = 3_000;

/** Keeps clients waiting that end a silent call. */
function sendProgress({ _meta, notify }: ServerContext["mcpReq"]): () => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    const params = { progressToken, progress, message: "working" };
    // The client may have disconnected; the call ends by its signal.
    notify({ method: "notifications/progress", params }).catch(() => {});
  }, progressEveryMs);
  return () => clearInterval(timer);
}

function failed(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** The errors of the daemon as errors of the protocol. */
async function told<T>({ ready }: McpContext, work: () => Promise<T>): Promise<T> {
  try {
    await ready();
    return await work();
  } catch (error) {
    if (!isAegisError(error)) throw error;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  }
}
