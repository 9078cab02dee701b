import BothyStore
import GRDB
import Testing

/// The words of messages for errors that Bothy didn't make.
@Suite("Causes of errors", .timeLimit(.minutes(5)))
struct ErrorCauseTests {
  @Test("A cause has SQLite's words, without the statement and the code")
  func sqlite() {
    let error = DatabaseError(
      resultCode: .SQLITE_CANTOPEN, message: "unable to open database file", sql: "SELECT 1")
    #expect(BothyError.cause(error) == "unable to open database file")
  }

  @Test("A cause leaves the full stop to the message")
  func fullStop() {
    #expect(BothyError.cause(BothyError(.notFound, "It was deleted.")) == "It was deleted")
  }
}
