import ArgumentParser

/// A word of the command line that isn't a command, in a place where one must be.
struct CommandSlip: Equatable {
  /// The command before the word, such as `bothy db`.
  let parent: String
  let word: String
  /// The commands that may be meant, in full.
  let suggestions: [String]

  /// Walks the words along the tree of commands. Returns `nil` if each has its command, or if the parser must decide:
  /// at an option, at a default command, and where the words end. Words after `help` are walked like those without.
  init?(in words: [String], of root: any ParsableCommand.Type) {
    var command = root
    var path = [root._commandName]
    let walked = words.first == "help" ? Array(words.dropFirst()) : words
    for word in walked {
      let children = command.configuration.subcommands
      guard !children.isEmpty, command.configuration.defaultSubcommand == nil, !word.hasPrefix("-"),
        !(path.count == 1 && word == "help")
      else { return nil }
      let match = children.first {
        $0._commandName == word || $0.configuration.aliases.contains(word)
      }
      guard let match else {
        parent = path.joined(separator: " ")
        self.word = word
        let names = children.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
        let near = Self.nearest(to: word, among: names).map { "\(path.joined(separator: " ")) \($0)" }
        suggestions = near.map { [$0] } ?? Array(Self.commands(named: word, below: root).prefix(3))
        return
      }
      command = match
      path.append(match._commandName)
    }
    return nil
  }

  var message: String {
    let quoted = suggestions.map { "'\($0)'" }
    let all = [quoted.dropLast().joined(separator: ", "), quoted.last ?? ""].filter { !$0.isEmpty }
    let remedy =
      quoted.isEmpty
      ? "`\(parent) --help` lists its commands." : "Did you mean \(all.joined(separator: " or "))?"
    return "\(parent) has no command '\(word)'. \(remedy)"
  }

  /// Returns the name with the fewest edits from `word`, at most 2 and fewer in short words, or with three first
  /// letters in common.
  static func nearest(to word: String, among names: [String]) -> String? {
    names
      .map { name in
        let shared = zip(word, name).prefix { $0 == $1 }.count
        return (name: name, edits: edits(from: word, to: name), shared: shared)
      }
      .filter { $0.shared >= 3 || $0.edits <= min(2, (max(word.count, $0.name.count) + 2) / 3) }
      .min { ($0.edits, -$0.shared) < ($1.edits, -$1.shared) }?
      .name
  }

  /// Returns the number of letters to insert, remove, replace or swap with their neighbour.
  static func edits(from first: String, to second: String) -> Int {
    let a = Array(first)
    let b = Array(second)
    var older: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, older[j - 1] + 1) }
        row.append(best)
      }
      (older, last) = (last, row)
    }
    return last[b.count]
  }

  /// Returns the shown commands of this name at any depth, those with the fewest words first.
  private static func commands(named name: String, below root: any ParsableCommand.Type) -> [String] {
    var found: [String] = []
    var level = [(path: root._commandName, command: root)]
    while !level.isEmpty {
      level = level.flatMap { parent in
        parent.command.configuration.subcommands
          .filter { $0.configuration.shouldDisplay }
          .map { (path: "\(parent.path) \($0._commandName)", command: $0) }
      }
      found += level.filter { $0.command._commandName == name }.map(\.path)
    }
    return found
  }
}
