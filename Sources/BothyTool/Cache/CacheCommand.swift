import ArgumentParser

/// `bothy cache`: copies of what is on the network, kept on disk.
struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Keeps copies of resources of the network.",
    discussion: """
      Example:  bothy cache proxy --origin https://tiles.example.org --listen 8081
      """,
    subcommands: [CacheProxyCommand.self])
}
