import { expect, it } from "vitest";
import { isSearchPath, loadsCode, programVariables } from "../../src/trust/program-variables.ts";

const loading = `BASH_ENV ENV NODE_OPTIONS NODE_PATH PYTHONSTARTUP PYTHONPATH PYTHONHOME LD_PRELOAD LD_LIBRARY_PATH
DYLD_INSERT_LIBRARIES RUBYOPT RUBYLIB PERL5OPT PERL5LIB GIT_SSH GIT_SSH_COMMAND GIT_CONFIG_GLOBAL GIT_EXEC_PATH SHELL PATH
EDITOR PAGER CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS GEM_PATH PHPRC LUA_INIT CDPATH ZDOTDIR MAKEFILES NPM_CONFIG_USERCONFIG
npm_config_script_shell LESSOPEN OPENSSL_CONF`.split(/\s+/);
const others =
  `NODE_ENV DATABASE_URL LOG LOG_FILE DB_PATH DATA_DIR GEMINI_API_KEY OPENAI_API_KEY TZ LANG PORT ENVIRONMENT
MY_ENV HOMEPAGE GITHUB_TOKEN`.split(/\s+/);

it.each(loading)("%s makes programs load code", (name) => expect(loadsCode(name)).toBe(true));
it.each(others)("%s does not", (name) => expect(loadsCode(name)).toBe(false));

it("knows search paths, and the variables that choose a server, which are no code", () => {
  for (const name of ["PATH", "PYTHONPATH", "RUBYLIB", "MY_PATH"]) expect(isSearchPath(name)).toBe(true);
  for (const name of ["PATHS", "LOG"]) expect(isSearchPath(name)).toBe(false);
  expect(loadsCode("OPENAI_BASE_URL")).toBe(false);
  expect("OPENAI_BASE_URL").toMatch(new RegExp(`^(?:${programVariables})$`));
});
