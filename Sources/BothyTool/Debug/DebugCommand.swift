import ArgumentParser

/// `bothy debug`: commands for the project's own tests, hidden in the help.
struct DebugCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "debug", abstract: "For the project's own tests.", shouldDisplay: false,
    subcommands: [SaveLoopCommand.self, SoakDeviceCommand.self])
}
