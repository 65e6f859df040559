/** The variables that decide which code a program loads, or which server it calls. The only list of their names. */

/** Programs load code, settings that name programs, or other programs from what these variables name. */
const loading = [
  "NODE_(?!ENV\\b)\\w+|NPM_CONFIG_\\w+|(?:BUN|DENO|TS_NODE)_\\w+|(?:LD|DYLD|GIT|SSH|XDG|OTEL|GEM|BUNDLE|LUA|PHP|MAVEN|GRADLE)_\\w+",
  "(?:PYTHON|PERL5?|RUBY|JAVA|JDK|JVM)\\w*|PHPRC|_JAVA_OPTIONS|CLASSPATH|CDPATH|ZDOTDIR",
  "BASH_ENV|ENV|SHELL|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS|PATH|HOME|TMPDIR|MAKEFLAGS|MAKEFILES|R_PROFILE\\w*",
  "EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|SUDO_ASKPASS|SSL_CERT_\\w+|OPENSSL_CONF|OPENSSL_MODULES",
  "GEMINI_(?!API_KEY\\b|MODEL\\b)\\w+|QWEN_\\w+|SANDBOX\\w*|SEATBELT_\\w+|BUILD_SANDBOX|CLOUD_SHELL",
].join("|");

const serving = [
  "(?:\\w+_)?(?:BASE_URL|ENDPOINT|PROXY|API_BASE|API_HOST)",
  "GOOGLE_(?:APPLICATION_CREDENTIALS|GEMINI_\\w+|VERTEX_\\w+|GENAI_\\w+|CLOUD_\\w+)|CODE_ASSIST_\\w+",
].join("|");

/** As the source of a regular expression, for texts that set variables. */
export const programVariables = `${serving}|${loading}`;

const loads = new RegExp(`^(?:${loading}|\\w+_(?:PRELOAD|LIBRARY_PATH)|GOPATH)$`, "i");
const searches = /(?:PATH|^RUBYLIB|^PERL5LIB|^ZDOTDIR)$/i;

/** Whether a program can load code from a file that the variable names, of any kind. */
export function loadsCode(variable: string): boolean {
  return loads.test(variable);
}

/** Whether programs search the folders that the variable names. */
export function isSearchPath(variable: string): boolean {
  return searches.test(variable);
}
