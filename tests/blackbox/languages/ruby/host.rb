# Tries to read the files that it is given, then to connect to the port that comes last.
require "socket"

*paths, port = ARGV
paths.each do |path|
  puts "read #{File.binread(path).size}"
rescue SystemCallError
  puts "refused"
end
begin
  TCPSocket.new("127.0.0.1", port.to_i)
  puts "connected"
rescue SystemCallError, SocketError
  puts "no connection"
end
