import BothyStore
import BothySyncService
import Synchronization

/// The requirements that each connection to a replica meets before its first read.
///
/// An address may lead to another database, or to several of them in turn.
final class ReplicaAdmission: Sendable {
  /// The identities of the cluster and of its database. Without them no replica is admitted.
  struct Origin: Sendable, Hashable {
    var cluster: Int64
    var database: String
  }

  private let known: Int
  private let origin = Mutex<Origin?>(nil)

  /// - Parameter known: the number of steps of the tables that the server knows.
  init(knowing known: Int) { self.known = known }

  var isReady: Bool { origin.withLock { $0 != nil } }

  func expect(_ new: Origin) { origin.withLock { $0 = new } }

  /// Throws `Replica.Refusal` for a connection to a database that must not answer.
  func check(_ connection: PostgresConnection) throws {
    let expected = origin.withLock { $0 }
    guard try connection.run(PostgresStatement(ReplicaSQL.isStandby)).bool(0, 0) else {
      throw Replica.Refusal.promoted
    }
    let cluster = try connection.run(PostgresStatement(ReplicaSQL.cluster))
    guard let expected, cluster.int(0, 0) == expected.cluster else { throw Replica.Refusal.unsuited }
    do {
      let found = try connection.run([
        PostgresStatement(ReplicaSQL.version), PostgresStatement(ReplicaSQL.identity),
      ])
      let version =
        found[0].count > 0
        ? TableVersion(version: Int(found[0].int(0, 0)), oldest: Int(found[0].int(0, 1)))
        : TableVersion(version: 0, oldest: 0)
      guard version.verdict(knowing: known) == .usable else { throw Replica.Refusal.outdated(version, known) }
      guard found[1].count > 0, found[1].text(0, 0) == expected.database else {
        throw Replica.Refusal.unsuited
      }
    } catch let failure as PostgresFailure where failure.code == "42P01" {
      throw Replica.Refusal.outdated(TableVersion(version: 0, oldest: 0), known)
    }
  }
}

extension Replica.Refusal {
  static let unsuited = Self(
    problem: .unsuited,
    sentence:
      "It is of another database than --database. Give a streaming standby, with the same name of the database."
  )

  static func outdated(_ version: TableVersion, _ known: Int) -> Self {
    Self(
      problem: .outdated,
      sentence:
        "Its tables have version \(version.version), and this server knows \(known). It is used when it has the "
        + "steps of the database, which `bothy admin migrate` runs.")
  }
}
