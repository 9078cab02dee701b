import ArgumentParser
import BothyStore
import BothySync

/// `SoakDriver save-loop`: saves and syncs until it is killed, and prints the acknowledged saves.
///
/// Prints `saved ID VALUE` when a save is durable, `deleted ID` likewise, and `synced SENT` after each sync. Each line
/// is written before the next step begins, so a test that kills the process knows the expected records.
struct SaveLoopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "save-loop", abstract: "Saves and syncs until killed.")

  @OptionGroup var database: SoakDatabase
  @Argument var type: String
  @Option(help: "The integer field that is written.") var field = "n"
  @Option(help: "Sync after this number of saves; 0 never syncs.") var syncEvery = 5
  @Option(help: "End after this number of saves; by default never.") var count = Int.max
  @Option(help: "Start numbers at.") var start: Int64 = 0

  func run() async throws {
    let store = try database.open()
    var last: RecordID?
    var saves = 0
    while saves < count {
      saves += 1
      let number = start + Int64(saves)
      if let known = last, saves.isMultiple(of: 3) {
        try await store.save(AnyRecord(type, id: known.id, [field: .int(number)]))
        try printLine("saved \(known.id) \(number)")
      } else if let known = last, saves.isMultiple(of: 7) {
        try await store.delete(known)
        try printLine("deleted \(known.id)")
        last = nil
      } else {
        let record = AnyRecord(type, [field: .int(number)])
        try await store.save(record)
        last = record.recordID
        try printLine("saved \(record.id) \(number)")
      }
      if syncEvery > 0, saves.isMultiple(of: syncEvery) {
        let report = await store.sync()
        try printLine("synced \(report.pushed) \(report.stop?.name ?? "complete")")
      }
    }
    try store.store.close()
  }
}
