import ArgumentParser

/// `bothy debug`: what the project's own tests run; not listed.
struct DebugCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "debug", abstract: "For the project's own tests.", shouldDisplay: false,
    subcommands: [SaveLoopCommand.self, SoakDeviceCommand.self])
}
