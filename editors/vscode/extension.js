// The client: it starts `tidelog lsp` and leaves everything else to it.

const { commands, window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function activate(context) {
  context.subscriptions.push(commands.registerCommand("tidelog.restart", restart));
  context.subscriptions.push(
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("tidelog")) return restart();
    }),
  );
  await start();
}

async function start() {
  const settings = workspace.getConfiguration("tidelog");
  const [command, ...args] = settings.get("command");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const languages = ["tidelog", ...settings.get("languages")];
  client = new LanguageClient(
    "tidelog",
    "Tidelog",
    { command, args, transport: TransportKind.stdio, options: { cwd: folder } },
    {
      documentSelector: languages.map((language) => ({ scheme: "file", language })),
      initializationOptions: settings.get("settings"),
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `Tidelog: ${command} cannot be started. Install it with: pip install "tidelog[lsp]" (${error.message})`,
    );
  }
}

async function restart() {
  await deactivate();
  await start();
}

async function deactivate() {
  const running = client;
  client = undefined;
  await running?.stop();
}

module.exports = { activate, deactivate };
