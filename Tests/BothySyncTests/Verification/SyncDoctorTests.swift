import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Examining sync's tables", .timeLimit(.minutes(5)))
struct SyncDoctorTests {
  private func findings(after sql: String, pending: Bool = true) async throws -> [String] {
    let pair = try await Pair.sharing(["T1", "T2"])
    if pending { try pair.a.retitle("edited") }
    #expect(try pair.a.store.diagnose().findings.isEmpty)
    try pair.a.change { try PreparedStatement(sql, in: $0.database).run() }
    return try pair.a.store.diagnose().findings.map { "\($0.severity.rawValue): \($0.message)" }
  }

  @Test("A pending edit whose record is gone is an error")
  func noRow() async throws {
    #expect(
      try await findings(after: "DELETE FROM Note WHERE _id = 'T1'") == [
        "error: Note/T1 has a pending update and is not here."
      ])
  }

  @Test("A pending deletion whose record is still here is an error")
  func deletedAndHere() async throws {
    #expect(
      try await findings(after: "UPDATE bothy_outbox SET kind = 2") == [
        "error: Note/T1 is marked as deleted and is still here."
      ])
  }

  @Test("A pending edit with half of its base is an error")
  func halfBase() async throws {
    let found = try await findings(after: "UPDATE bothy_outbox SET base_version = NULL")
    #expect(found.contains("error: Note/T1 has half of what its pending change was made against."))
    #expect(try await findings(after: "UPDATE bothy_outbox SET base = NULL").count == 1)
  }

  @Test("A record that no server has and no sync will send is noted")
  func stray() async throws {
    #expect(
      try await findings(after: "UPDATE Note SET _version = NULL WHERE _id = 'T2'") == [
        "note: 1 records of Note are on this device only."
      ])
  }

  @Test("Staged pages that no pull continues are a warning")
  func strayPages() async throws {
    let found = try await findings(
      after:
        "INSERT INTO bothy_stage VALUES ('', 1, 1, '{\"container\":\"\",\"cursor\":\"x\",\"changes\":[]}')")
    #expect(found == ["warning: 1 pages of a pull of '' wait for a pull that is not going on."])
  }
}
