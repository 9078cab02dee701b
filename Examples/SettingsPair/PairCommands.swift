import Bothy
import Foundation

/// Two processes and one group of settings. The widget observes the changes of the app.
@main struct PairCommands {
  static let usage = """
    SettingsPair FILE widget            shows the settings, and each change of them, until it is interrupted
    SettingsPair FILE size POINTS       changes one
    SettingsPair FILE theme paper|night
    """

  static func main() async {
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  static func run(_ words: [String]) async throws {
    guard words.count > 1 else { return print(usage) }
    let settings = SharedSettings<Reading>(in: SettingsContainer(at: words[0]))
    switch (words[1], words.count) {
    case ("widget", 2): await follow(settings)
    case ("size", 3):
      guard let points = Int(words[2]) else { return print(usage) }
      try settings.update { $0.fontSize = points }
    case ("theme", 3): try settings.update { $0.theme = words[2] }
    default: print(usage)
    }
  }

  /// Prints each change. Reads do no I/O after the first, which opens the file. Changes of other processes arrive by
  /// themselves.
  static func follow(_ settings: SharedSettings<Reading>) async {
    let changes = settings.changes
    show(settings.current)
    for await change in changes {
      if change.changed(\.theme) { print("The theme was \(change.old.theme).") }
      show(change.new)
    }
  }

  static func show(_ reading: Reading) {
    print("\(reading.theme), \(reading.fontSize) points")
  }
}
