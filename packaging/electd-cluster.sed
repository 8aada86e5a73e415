# Makes electd-cluster@.service, for each of several clusters of a host, of electd@.service.
1,2c\
# One of several clusters of a host: `systemctl enable --now electd-cluster@CLUSTER` runs a member of\
# /etc/electd/CLUSTER/cluster.json: the one that ELECTD_NODE in /etc/electd/CLUSTER/env names, or the one with this\
# host's name. Each cluster has ports and a data_dir of its own, such as /var/lib/electd/CLUSTER.
s|^Description=.*|Description=electd member of cluster %i|
/^ExecStart=/i\
EnvironmentFile=-/etc/electd/%i/env
s|/etc/electd/cluster.json --node %i|/etc/electd/%i/cluster.json|
