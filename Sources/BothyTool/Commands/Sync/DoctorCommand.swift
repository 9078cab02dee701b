import ArgumentParser
import BothyStore
import BothySync

/// `bothy doctor`: examines a database file.
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Examines the file, its tables, rows and indexes, and the bookkeeping of syncing.",
    discussion: """
      Changes nothing, unless --repair, which builds indexes again. Ends with status
      1 when data is damaged.

      Example:  bothy doctor notes.bothy
      """)

  @OptionGroup var database: DatabaseOptions
  @Flag(help: "Build again what can be built from the rows.") var repair = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let findings = try await examine()
    try output.print {
      findings.isEmpty
        ? "Nothing is wrong with \(database.path)." : findings.map(\.description).joined(separator: "\n")
    } json: { writer in
      writer.member("healthy", findings.allSatisfy { $0.severity == .note })
      writer.list("findings", findings) { writer, finding in
        writer.member("severity", finding.severity.rawValue)
        writer.member("check", finding.check)
        writer.member("message", finding.message)
        writer.member("remedy", finding.remedy)
      }
    }
    let errors = findings.count { $0.severity == .error }
    guard errors == 0 else {
      throw ToolError("Damaged parts of \(database.path): \(errors). Each finding says what to do.")
    }
  }

  /// Examines a file that is too damaged to open from outside.
  private func examine() async throws -> [StoreDiagnosis.Finding] {
    do {
      return try await Session.with(database) { session in
        let found = try session.store.diagnose()
        guard repair, found.isRepairable else { return found.findings }
        try session.store.store.repair(found)
        return try session.store.diagnose().findings
      }
    } catch let error as BothyError where error.code == .corrupt || error.code == .database {
      let found = try LocalStore.diagnose(fileAt: database.path).findings
      guard found.isEmpty else { return found }
      let remedy = "Restore a backup, or sync into a new file."
      return [StoreDiagnosis.Finding(.error, check: "file", error.message, remedy: remedy)]
    }
  }
}
