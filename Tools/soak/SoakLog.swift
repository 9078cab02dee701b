import BothyStore
import BothySync
import Foundation

/// The log of a soak's device: events with the machine's monotonic time, which orders those of several processes.
enum SoakLog {
  /// Writes one event: its kind (`invoke`, `ok`, `info`, …), its operation and its value.
  static func say(_ kind: String, _ operation: String? = nil, value: JSONValue? = nil) throws {
    var writer = JSONWriter()
    writer.object {
      $0.member("time", Int64(clamping: DispatchTime.now().uptimeNanoseconds))
      $0.member("type", kind)
      if let operation { $0.member("f", operation) }
      if let value { $0.member("value", value) }
    }
    try printLine(writer.string)
  }

  /// Writes the number of pending changes, and the local and remote digests.
  static func state(of store: SyncedStore) async throws {
    let digest = try store.digest()
    let remote = try? await store.maintenance.remoteDigest()  // nil in the output: the server didn't respond
    try say(
      "state",
      value: [
        "pending": .int(Int64(try store.pendingCounts().total)), "digest": .string(digest.digest),
        "count": .int(Int64(digest.count)), "remote": remote.map { .string($0.digest) } ?? .null,
        "position": remote?.position.map { .int($0) } ?? .null,
        "phase": .string("\(store.status.phase)"),
        "problem": store.status.lastStop.map { .string("\($0)") } ?? .null,
      ])
  }

  /// Writes every record, every pending entry and the findings of the doctor.
  static func contents(of store: SyncedStore) throws {
    var records: [String: JSONValue] = [:]
    for type in store.store.schema.types {
      for record in try store.store.fetch(AnyQuery(type.name)) {
        var writer = JSONWriter()
        writer.object {
          for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
            $0.key(name)
            value.write(to: &$0)
          }
        }
        records[record.recordID.description] = try JSONValue(parsing: writer.bytes)
      }
    }
    let outbox = try store.outboxEntries().map { JSONValue.string("\($0)") }
    let findings = try store.diagnose().findings.map { JSONValue.string("\($0)") }
    try say(
      "contents",
      value: ["records": .object(records), "outbox": .array(outbox), "findings": .array(findings)])
  }
}
