import ArgumentParser

/// The command line with its commands. Any error of a command ends the process.
@main
struct BothyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bothy",
    abstract: "Keeps records in a local file and in agreement with a server you host.",
    discussion: """
      See it work:        bothy demo
      Begin an app:       bothy new notes
      Run a server:       bothy serve --port 8080
      Make a database:    bothy db create notes.bothy --schema schema.json
      Write and read:     bothy db put notes.bothy Note '{"title":"Milk"}'
                          bothy db query notes.bothy Note --order -title
      Agree with others:  bothy sync notes.bothy --space home \\
                            --server http://localhost:8080
      Keep downloads:     bothy cache get https://example.org/16/10472/22982.png
      Ship static data:   bothy pack build times.pack times.csv --shard-by city
      See what is inside: bothy inspect notes.bothy --open
      Know what is near:  bothy places near oslo.places --lat 59.91 --lon 10.75
      An app's settings:  bothy settings set app.bothy LocaleSettings timeFormat 24

      Every command takes --json: one JSON document on standard output. Logs and
      progress go to standard error. Exit status: 0 done, 1 failed (the reason is on
      standard error), 64 wrong usage. BOTHY_NOW sets the clock: an RFC 3339 time,
      or an offset such as +7d1s or -2h.
      """,
    version: "0.1.0",
    groupedSubcommands: [
      CommandGroup(
        name: "Starting",
        subcommands: [StarterCommand.self, DemoCommand.self, ServeCommand.self, InspectCommand.self]),
      CommandGroup(name: "Records", subcommands: [DatabaseCommand.self]),
      CommandGroup(
        name: "Sync",
        subcommands: [
          SyncCommand.self, StatusCommand.self, OutboxCommand.self, RejectedCommand.self, ResolveCommand.self,
          ReleaseCommand.self, JournalCommand.self, PurgeCommand.self, ResetCommand.self, DigestCommand.self,
          ListsCommand.self,
          DoctorCommand.self,
        ]),
      CommandGroup(name: "Server administration", subcommands: [AdminCommand.self]),
      CommandGroup(
        name: "Maps and downloads",
        subcommands: [
          TileCommand.self, TilesCommand.self, CacheCommand.self, SourceCommand.self, RegionCommand.self,
          PlacesCommand.self,
        ]),
      CommandGroup(name: "Packs and settings", subcommands: [PackCommand.self, SettingsCommand.self]),
      CommandGroup(name: "Other", subcommands: [CompletionsCommand.self]),
    ])

  static func main() async {
    do {
      Logs.start()
      let words = Array(CommandLine.arguments.dropFirst())
      if let slip = CommandSlip(in: words, of: Self.self) {
        // The parser would add the usage of `bothy`, whatever the command before the word is.
        StandardStreams.note("Error: \(slip.message)")
        throw ExitCode.validationFailure
      }
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      end(with: error)
    }
  }

  /// Prints the error and ends the process. Errors of the argument parser keep the parser's text and status. All others
  /// print one sentence and end with status 1.
  private static func end(with error: any Error) -> Never {
    let isParsers = exitCode(for: error) != .failure || error is ExitCode
    guard !isParsers else { exit(withError: error) }
    StandardStreams.note("bothy: \(ErrorMessage(error).sentence)")
    exit(withError: ExitCode.failure)
  }
}
