import ArgumentParser

/// `bothy cache`: manages copies of network resources on disk.
struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Keeps copies of resources of the network, and answers with them when it is gone.",
    discussion: """
      A cache is a folder, --store, ./bothy-cache unless given. Several processes may
      use it at once. Sources say how long what they bring counts as fresh
      (`bothy source add`); what comes from a bare address does as its server says.

      Example:  bothy cache get https://tiles.example.org/16/10472/22982.png
                bothy source add osm 'https://tiles.example.org/{z}/{x}/{y}.png'
                bothy cache get osm 16 10472 22982 --output tile.png
                bothy cache pin osm 16 10472 22982
                bothy cache stat
                bothy cache verify
                bothy cache proxy --origin https://tiles.example.org --listen 8081
      """,
    subcommands: [
      CacheGetCommand.self, CacheStatCommand.self, CacheVerifyCommand.self, CacheGarbageCommand.self,
      CacheLimitsCommand.self, CachePinCommand.self, CacheUnpinCommand.self, CachePinsCommand.self,
      CacheProxyCommand.self,
    ])
}
