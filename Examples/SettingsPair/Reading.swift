import Bothy

/// A reader's preferences. They are one row in a file that the app and its widget share.
@SettingsGroup struct Reading {
  var fontSize = 17
  var theme = "paper"
}

/// The rules of this process: it refuses to store values that break them, from any caller.
extension Reading {
  static func willUpdate(from old: Reading, to proposed: inout Reading) throws {
    guard (8...72).contains(proposed.fontSize) else { throw ReadingError.size(proposed.fontSize) }
    guard ["paper", "night"].contains(proposed.theme) else { throw ReadingError.theme(proposed.theme) }
  }
}

enum ReadingError: Error, CustomStringConvertible {
  case size(Int)
  case theme(String)

  var description: String {
    switch self {
    case .size(let size): "\(size) points can't be read. Choose 8 to 72."
    case .theme(let theme): "There is no theme '\(theme)'. Choose paper or night."
    }
  }
}
