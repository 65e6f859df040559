/** The offline agent: follows a playbook inside the daemon. No model, no network, the same answer every time. */
import { assetPath } from "@aegis/lib/assets.ts";
import { containedPath } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { ConversationSpec, Driver, DriverDeps } from "../driver.ts";
import { DriverError } from "../driver.ts";
import { createConversation } from "./conversation.ts";
import { scriptedFacts } from "./facts.ts";
import { Gates } from "./gates.ts";
import { createPlaybookShelf, type Playbook, PlaybookError, type PlaybookShelf } from "./playbook/playbook.ts";

export function createScriptedDriver(deps: DriverDeps): Driver {
  const shelf = createPlaybookShelf();
  const gates = new Gates(deps.clock);
  return {
    harness: scriptedFacts.harness,
    costs: () => "nothing",
    capabilities: {
      // It has no memory to lose: the messages of an interrupted turn are simply sent again.
      resume: "anywhere",
      fork: false,
      steer: true,
      mcp: false,
      permissions: true,
      images: false,
    },
    async probe() {
      const path = defaultPlaybook();
      const ready = { version: null, path, detail: "offline scripted agent, no model" };
      try {
        await shelf.load(path);
        return { ...ready, status: "ready", fix: null };
      } catch (error) {
        if (!(error instanceof PlaybookError)) throw error;
        return { ...ready, status: "broken", detail: `${ready.detail}: ${error.message}`, fix: "reinstall Aegis" };
      }
    },
    async open(spec, scope) {
      const playbook = await playbookOf(spec, shelf);
      const closed = new AbortController();
      scope.defer(() => closed.abort());
      return createConversation({ spec, playbook, clock: deps.clock, gates, closed: closed.signal });
    },
  };
}

function defaultPlaybook(): string {
  return assetPath("playbook.yaml");
}

async function playbookOf({ agent, cwd, host }: ConversationSpec, shelf: PlaybookShelf): Promise<Playbook> {
  const { playbook } = agent.options;
  const fix = playbook === undefined ? "reinstall Aegis" : `correct the playbook of agent "${agent.slug}"`;
  const refuse = (message: string, cause?: unknown) => new DriverError({ code: "start", message, fix }, { cause });
  let file = defaultPlaybook();
  if (playbook !== undefined) {
    if (typeof playbook !== "string") throw refuse(`agent "${agent.slug}": expected the playbook to be a path`);
    const contained = await containedPath(cwd, playbook);
    if (contained === null) throw refuse(`agent "${agent.slug}": the playbook ${playbook} is outside the project`);
    file = contained;
  }
  try {
    return playbook === undefined ? await shelf.load(file) : shelf.parse(file, await host.agreedFile(file));
  } catch (error) {
    if (error instanceof DriverError) throw error;
    const message = error instanceof PlaybookError ? error.message : `cannot read the playbook: ${errorText(error)}`;
    throw refuse(message, error);
  }
}
