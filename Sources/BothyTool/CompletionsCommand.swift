import ArgumentParser
import BothyStore

/// `bothy completions`: prints the script with which a shell completes commands, options and types of values.
struct CompletionsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completions",
    abstract: "Prints a completion script for a shell.",
    discussion: """
      Example:  bothy completions bash > ~/.bash_completion.d/bothy
                bothy completions zsh > ~/.zfunc/_bothy
      """)

  enum Shell: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    var completionShell: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell = .bash
  @OptionGroup var output: OutputOptions

  func run() throws {
    let script = BothyCommand.completionScript(for: shell.completionShell)
    try output.print {
      script
    } json: { writer in
      writer.member("shell", shell.rawValue)
      writer.member("script", script)
    }
  }
}
