import BothyTesting
import Foundation

typealias FaultyRemoteFault = FaultyRemote.Fault

/// A kind of step or of fault that a run of wide histories can leave out.
///
/// `BOTHY_FEATURES` names those that are on: `all`, a list (`together,kills`), or changes to the default
/// (`+epochs,-kills`).
enum WideFeature: String, CaseIterable, Sendable {
  case atomic, drafts, online, onlineOnly, oneWay, busyWrites, queries, refreshes, live, purges,
    forcedPurges
  case restores, processes, exports, adoptions, blobs
  case decisions, keepLocal, moves, scopes, compaction, epochs, refusals, throwing, kills, untoldKills,
    faults, late, mixed

  static let standard = Set(allCases)

  /// Returns the situations that must occur in two hundred histories, so that each kind of step has an effect.
  static func situations(of features: Set<WideFeature>) -> [String] {
    let all: [WideFeature: [String]] = [
      .atomic: ["together"], .drafts: ["draft", "release"], .online: ["online"],
      .onlineOnly: ["onlineOnly"],
      .busyWrites: ["busy"], .queries: ["query"], .refreshes: ["refresh"],
      .live: ["live applied", "live outdated"],
      .purges: ["purge"], .forcedPurges: ["forced purge"],
      .decisions: ["decision retry", "decision revert", "decision removeLocal"], .scopes: ["follow"],
      .compaction: ["compaction"], .epochs: ["epoch"], .refusals: ["failure invalid"],
      .restores: ["restore"], .processes: ["beside"], .throwing: ["failure mergeFailed"], .kills: ["kill"],
      .exports: ["export", "exported pending"],
      .adoptions: ["adoptServer", "uploadMine", "keepApart"],
      .blobs: ["attach", "replace", "detach", "upload", "download", "evict"],
      .faults: ["lostRequest", "lostAnswer", "duplicated", "busy", "broken"].map { "fault \($0)" },
      .late: ["fault late"],
    ]
    return all.filter { features.contains($0.key) }.flatMap(\.value).sorted() + [
      "overwritten", "rebased", "restart",
    ]
  }

  static var chosen: Set<WideFeature> {
    guard let text = ProcessInfo.processInfo.environment["BOTHY_FEATURES"], !text.isEmpty else {
      return standard
    }
    if text == "all" { return Set(allCases) }
    let words = text.split(separator: ",").map(String.init)
    let isChange = words.allSatisfy { $0.hasPrefix("+") || $0.hasPrefix("-") }
    var chosen = isChange ? standard : []
    for word in words {
      guard let feature = WideFeature(rawValue: word.trimmingCharacters(in: CharacterSet(charactersIn: "+-")))
      else { continue }
      if word.hasPrefix("-") { chosen.remove(feature) } else { chosen.insert(feature) }
    }
    return chosen
  }
}
