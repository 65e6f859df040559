/** Classifies file names: skill pages, files beside them, and resource folders. */

/** In order of preference. */
const mainPages = ["SKILL.md", "skill.md", "Skill.md"];

export const mainPage = /^skill\.md$/i;

/** The page, including common misspellings. */
export const pageName = /^skills?\.md$/i;

/** Folders with a skill's resources. */
export const resourceFolders: ReadonlySet<string> = new Set([
  ...[
    "references",
    "reference",
    "resources",
    "scripts",
    "assets",
    "templates",
    "examples",
    "docs",
    "data",
    "lib",
    "src",
  ],
  ...["test", "tests", "images", "fonts", "bin", "config", "agents", "commands", "hooks", "evals", "prompts", "rules"],
]);

export function rankOf(name: string): number {
  const rank = mainPages.indexOf(name);
  return rank === -1 ? mainPages.length : rank;
}

export function isPage(name: string): boolean {
  return (
    /\.md$/i.test(name) && !/^(?:readme|changelog|license|contributing|agents|claude|gemini|skills)\.md$/i.test(name)
  );
}
