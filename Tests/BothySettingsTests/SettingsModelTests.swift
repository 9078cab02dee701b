import BothySettings
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Settings against a model of ten lines", .timeLimit(.minutes(5))) struct SettingsModelTests {
  /// The expected group, and the changes that each of two homes on the file must deliver.
  struct Model {
    var value = LocaleSettings()

    /// Returns nil if the change is refused, and the unchanged value if `change` changes nothing.
    mutating func update(_ change: (inout LocaleSettings) -> Void) -> LocaleSettings? {
      var proposed = value
      change(&proposed)
      guard ["12", "24"].contains(proposed.timeFormat) || proposed == value else { return nil }
      value = proposed
      return value
    }
  }

  /// Promises: K-1, K-3, K-4, B-36, B-40
  @Test("Two homes on one file store and deliver the same as the model", arguments: 0..<15)
  func histories(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let homes = [folder.home(), folder.home()]
    let settings = homes.map { SharedSettings<LocaleSettings>(in: $0) }
    let streams = settings.map(\.changes)
    var model = Model()
    var told: [[LocaleSettings]] = [[], []]
    for step in 0..<30 {
      let actor = Int.random(in: 0..<2, using: &random)
      let kind = Int.random(in: 0..<6, using: &random)
      let old = model.value
      let change: (inout LocaleSettings) -> Void = { settings in
        switch kind {
        case 0: settings.languageLocale = ["en", "de", "e\u{301}", "\u{e9}"][step % 4]
        case 1: settings.timeFormat = ["12", "24", "13"][step % 3]
        case 2: settings.visits += step % 2
        case 3: settings.regionLocale += "x"
        default: break
        }
      }
      if kind == 5 {
        try settings[actor].republish()
        told[actor].append(model.value)
      } else if let new = model.update(change) {
        #expect(try settings[actor].update(change) == new)
        if new != old || !new.languageLocale.utf8.elementsEqual(old.languageLocale.utf8) {
          told[actor].append(new)
        }
      } else {
        #expect(throws: UnknownTimeFormat.self) { try settings[actor].update(change) }
      }
      #expect(settings[actor].current == model.value)
      if Bool.random(using: &random) { #expect(try settings[1 - actor].load() == model.value) }
    }
    for home in homes { try home.close() }
    for (actor, stream) in streams.enumerated() {
      var changes: [SettingsChange<LocaleSettings>] = []
      for await change in stream { changes.append(change) }
      check(changes, own: told[actor])
    }
    #expect(try SharedSettings<LocaleSettings>(in: folder.home()).load() == model.value)
  }

  /// Checks that each change begins with the value of the last and names the fields that differ.
  ///
  /// All of this home's own changes must arrive once, in their order.
  private func check(_ changes: [SettingsChange<LocaleSettings>], own: [LocaleSettings]) {
    var last = LocaleSettings()
    for change in changes {
      #expect(change.old == last)
      last = change.new
      let differs = Set(
        [
          ("languageLocale", !change.old.languageLocale.utf8.elementsEqual(change.new.languageLocale.utf8)),
          ("regionLocale", change.changed(\.regionLocale)), ("timeFormat", change.changed(\.timeFormat)),
          ("visits", change.changed(\.visits)),
        ].filter(\.1).map(\.0))
      #expect(change.changedKeys == differs)
    }
    // Both homes are in one process, so the other home's changes can't be distinguished from this home's own.
    var rest = changes.map(\.new)[...]
    for value in own {
      guard let place = rest.firstIndex(of: value) else {
        Issue.record("a change was not told of")
        return
      }
      rest = rest[(place + 1)...]
    }
  }
}
