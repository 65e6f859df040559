/** Agents, skills, plugins and slash commands: what there is, where it comes from, and what is wrong with it. */
import type { ComponentChildren } from "preact";
import { link } from "../app/router.ts";
import { Page } from "../parts/page.tsx";
import { AgentPage } from "./catalog/agent.tsx";
import { AgentEditor } from "./catalog/agent-editor.tsx";
import { AgentList } from "./catalog/agents.tsx";
import { CommandList } from "./catalog/commands.tsx";
import { PluginPage } from "./catalog/plugin.tsx";
import { PluginList } from "./catalog/plugins.tsx";
import { SkillPage } from "./catalog/skill.tsx";
import { SkillList } from "./catalog/skills.tsx";

const tabs = { agents: "Agents", skills: "Skills", plugins: "Plugins", commands: "Commands" } as const;

export function CatalogPage({ rest: [kind = "agents", name, act] }: { rest: readonly string[] }) {
  if (kind === "agents" && act === "edit" && name !== undefined) return <AgentEditor key={name} name={name} />;
  if (kind === "agents" && name !== undefined) return <AgentPage key={name} name={name} />;
  if (kind === "plugins" && name !== undefined) return <PluginPage key={name} name={name} />;
  if (kind === "skills" && name !== undefined) return <SkillPage key={name} name={name} />;
  return (
    <Page title="Agents and plugins" tools={<Tabs chosen={kind} />}>
      {kind === "skills" ? (
        <SkillList />
      ) : kind === "plugins" ? (
        <PluginList />
      ) : kind === "commands" ? (
        <CommandList />
      ) : (
        <AgentList />
      )}
    </Page>
  );
}

function Tabs({ chosen }: { chosen: string }): ComponentChildren {
  return (
    <nav class="kinds" aria-label="Kinds">
      {Object.entries(tabs).map(([kind, title]) => (
        <a key={kind} href={link("catalog", kind)} aria-current={kind === chosen ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
