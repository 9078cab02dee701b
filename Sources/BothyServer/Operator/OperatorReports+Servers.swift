import BothyStore
import BothySyncService

/// The documents about server processes: their state, refusals, limits, and the use of storage.
extension OperatorReports {
  /// Writes the state of a process.
  static func write(stateOf server: WatchedServer, to writer: inout JSONWriter) {
    writer.member("url", server.url)
    writer.member("watchedSince", server.watchedSince)
    writer.member("answeredAt", server.answeredAt)
    writer.member("awaySince", server.awaySince)
    writer.member("problem", server.problem)
    writer.member("ready", server.awaySince == nil ? server.isReady : nil)
    writer.member("unreadiness", server.unreadiness)
  }

  /// All processes side by side.
  func servers() async -> [UInt8] {
    let servers = await watch.servers
    return object { writer in
      writer.list("servers", servers) { writer, server in
        Self.write(stateOf: server, to: &writer)
        writer.member("requestRate", server.rate("bothy_http_requests_total"))
        writer.member("meanTime", server.mean("bothy_http_request_seconds"))
        writer.member("failures", server.metrics?.sum("bothy_http_requests_total", ["status": "500"]))
        writer.member("connections", server.metrics?.sum("bothy_connections"))
        writer.member("streams", server.metrics?.sum("bothy_event_streams"))
        writer.member("hints", server.metrics?.sum("bothy_hints_total"))
        writer.member("looksForNews", server.metrics?.sum("bothy_news_by_looks").map { $0 > 0 })
        writer.list("lines", ["pull", "push", "query"]) { writer, kind in
          writer.member("kind", kind)
          writer.member("running", server.metrics?.sum("bothy_requests_running", ["kind": kind]))
          writer.member("waiting", server.metrics?.sum("bothy_requests_waiting", ["kind": kind]))
        }
        writer.list("operations", server.metrics?.all("bothy_operations_total") ?? []) { writer, sample in
          writer.member("verdict", sample.labels["verdict"])
          writer.member("total", sample.value)
        }
      }
    }
  }

  /// Refusals by reason and by route, of each process: since its start, and lately.
  func refusals() async -> [UInt8] {
    let servers = await watch.servers
    return object { writer in
      writer.list("servers", servers) { writer, server in
        Self.write(stateOf: server, to: &writer)
        writer.member("latelySince", server.countedSince)
        let lately = server.lately()
        let metrics = server.metrics
        writer.list("reasons", metrics.map(Refusals.byReason) ?? []) { writer, sample in
          writer.member("reason", sample.labels["reason"])
          writer.member("total", sample.value)
          writer.member("lately", lately[sample.series])
        }
        writer.list("routes", metrics.map(Refusals.byRoute) ?? []) { writer, sample in
          for name in ["method", "route", "status"] { writer.member(name, sample.labels[name]) }
          writer.member("total", sample.value)
          writer.member("lately", lately[sample.series])
        }
        writer.list("endings", metrics?.all("bothy_connections_ended_total") ?? []) { writer, sample in
          writer.member("reason", sample.labels["reason"])
          writer.member("total", sample.value)
          writer.member("lately", lately[sample.series])
        }
        writer.member("rejected", metrics?.sum("bothy_operations_total", ["verdict": "rejected"]))
        writer.member("decided", metrics?.sum("bothy_decisions_total", ["decision": "refused"]))
        writer.member("outages", metrics?.sum("bothy_decision_outages_total"))
      }
    }
  }

  /// The table of limits, with the value in each process and how near it came to it.
  func limits() async -> [UInt8] {
    let servers = await watch.servers
    return object { writer in
      writer.list("servers", servers) { Self.write(stateOf: $1, to: &$0) }
      writer.list("limits", ServerLimit.all) { writer, limit in
        writer.member("name", limit.name)
        writer.member("about", limit.about)
        writer.member("subject", limit.subject.rawValue)
        writer.member("unit", limit.unit.rawValue)
        writer.member("option", limit.range == nil ? nil : "--\(limit.name)")
        writer.member("default", limit.defaultText)
        let use = LimitUse.all.first { $0.limit == limit.name }
        writer.list("servers", servers) { Self.write(limit, use, in: $1, to: &$0) }
      }
    }
  }

  private static func write(
    _ limit: ServerLimit, _ use: LimitUse?, in server: WatchedServer, to writer: inout JSONWriter
  ) {
    let metrics = server.metrics
    let applies = metrics.map { LimitUse.applies(limit.name, to: $0) } ?? true
    let value = metrics?.all("bothy_limit").first { $0.labels["limit"] == limit.name }?.value
    writer.member("applies", applies)
    writer.member("value", value.flatMap { $0.isFinite ? $0 : nil })
    writer.member("text", value.map { $0.isFinite ? limit.unit.text($0) : "none" })
    let gauge = use?.gauge.flatMap { gauge in
      metrics?.all(gauge.name).first { sample in gauge.labels.allSatisfy { sample.labels[$0.key] == $0.value }
      }
    }
    writer.member("used", applies ? gauge?.value : nil)
    let peak = gauge.flatMap { server.peak($0.series) }
    writer.member("peak", applies ? peak?.value : nil)
    writer.member("peakAt", applies ? peak?.at : nil)
    let refused =
      (use?.refusals ?? []).map { ($0, "bothy_refusals_total") }
      + (use?.endings ?? []).map { ($0, "bothy_connections_ended_total") }
    writer.list("reached", refused) { writer, entry in
      writer.member("reason", entry.0)
      // A reason without a count has not occurred since the start of the process.
      writer.member("total", metrics.map { $0.sum(entry.1, ["reason": entry.0]) ?? 0 })
    }
  }

  /// The files of the database as this machine sees them, and each process's use of storage.
  func storage() async -> [UInt8] {
    let servers = await watch.servers
    return object { writer in
      writer.list("files", database?.files.sizes ?? []) { writer, file in
        writer.member("file", file.file)
        writer.member("bytes", file.bytes)
      }
      writer.list("disks", database?.files.free ?? []) { writer, disk in
        writer.member("of", disk.place)
        writer.member("free", disk.bytes)
      }
      writer.list("servers", servers) { writer, server in
        Self.write(stateOf: server, to: &writer)
        let metrics = server.metrics
        writer.list("files", metrics?.all("bothy_database_bytes") ?? []) { writer, sample in
          writer.member("file", sample.labels["file"])
          writer.member("bytes", sample.value)
        }
        writer.list("disks", metrics?.all("bothy_disk_free_bytes") ?? []) { writer, sample in
          writer.member("of", sample.labels["of"])
          writer.member("free", sample.value)
        }
        writer.list("pools", ["read", "write", "search"]) { writer, kind in
          let time = "bothy_storage_transaction_seconds"
          writer.member("kind", kind)
          writer.member("running", metrics?.sum("bothy_storage_transactions_running", ["kind": kind]))
          writer.member("rate", server.rate(time + "_count", ["kind": kind]))
          writer.member("meanTime", server.mean(time, ["kind": kind]))
          writer.member(
            "failed", metrics.map { $0.sum(time + "_count", ["kind": kind, "result": "failed"]) ?? 0 })
          writer.member("connections", metrics.flatMap { Self.pool(kind, $0) })
        }
      }
    }
  }

  /// Returns the number of connections for a kind of transactions, if the process's metrics have its limits.
  private static func pool(_ kind: String, _ metrics: MetricsText) -> Double? {
    let isFile = LimitUse.applies("readers", to: metrics)
    let limit =
      switch kind {
      case "search": "queries"
      case "read": isFile ? "readers" : "database-connections"
      default: isFile ? nil as String? : "database-connections"
      }
    // A file has one writer.
    guard let limit else { return 1 }
    return metrics.sum("bothy_limit", ["limit": limit])
  }
}
